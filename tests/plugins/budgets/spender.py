"""A process whose runs spend from shared budgets until they are refused; it prints what its calls have cost.

``python spender.py DISTRIBUTION STORE SEED RUNS [HANG]``: with HANG it says so in its first call, and hangs there.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import AsyncGenerator

from newel.agents import LlmAgent
from newel.budgets import BudgetExceededError
from newel.models import LlmResponse
from newel.models.remote import RemoteLlm
from newel.models.wire.usage import token_usage
from newel.runners import Runner
from newel.sessions import SqliteSessionService
from newel_compose import compose
from newel_kernel import BaseSessionService, LlmRequest
from newel_postgres import PostgresSessionService
from newel_types import Content, FunctionCall, GenerateContentConfig, Part

MOST_TOKENS = 1_000


class Caller(RemoteLlm):
    """Always calls a tool, with an answer of random length."""

    provider = "caller"
    model: str = "caller"
    chance: random.Random
    costs: list[int]
    hangs: bool = False

    async def _answers(self, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
        if self.hangs:
            print("hanging", flush=True)
            await asyncio.Event().wait()
        await asyncio.sleep(self.chance.random() / 100)
        tokens = self.chance.randint(1, MOST_TOKENS)
        self.costs.append(tokens)
        content = Content(role="model", parts=[Part(function_call=FunctionCall(name="look", args={}))])
        yield LlmResponse(content=content, usage_metadata=token_usage(prompt=0, output=tokens))


def opened(uri: str) -> BaseSessionService:
    """The store of a URI."""
    return PostgresSessionService(uri) if uri.startswith("postgresql:") else SqliteSessionService(uri)


def look() -> str:
    """Looks."""
    return "seen"


async def spend(distribution: str, uri: str, seed: int, runs: int, hangs: bool) -> None:
    composed = compose(distribution)
    store = opened(uri)
    model = Caller(chance=random.Random(seed), costs=[], hangs=hangs)
    config = GenerateContentConfig(max_output_tokens=MOST_TOKENS)
    agent = LlmAgent(name="a", model=model, tools=[look], generate_content_config=config)
    runner = Runner(app_name="shop", agent=agent, session_service=store, composition=composed, auto_create_session=True)

    async def one(number: int) -> bool:
        try:
            async for _ in runner.run_async(user_id=f"u{seed}", session_id=f"s{seed}-{number}", new_message="go"):
                pass
        except BudgetExceededError:
            return True
        return False

    refused = await asyncio.gather(*map(one, range(runs)))
    print(json.dumps({"costs": model.costs, "refused": sum(refused)}), flush=True)
    await runner.close()
    await store.close()


if __name__ == "__main__":
    _, distribution, uri, seed, runs, *hang = sys.argv
    asyncio.run(spend(distribution, uri, int(seed), int(runs), bool(hang)))
