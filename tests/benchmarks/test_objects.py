"""What a turn keeps while it waits for its model: the garbage collector looks at all objects once many were made."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.models import BaseLlm, LlmRequest, LlmResponse
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel_types import Content, FunctionCall, Part

_TURNS = 200
#: Of a tool turn that waits for its second answer. CPython 3.11 looks at every object there is after 11 * 11 * 700
#: new ones, which a thousand such turns at once do not make.
_MOST = 81


class _Waiting(BaseLlm):
    """Calls a tool, and answers once it may."""

    model: str = "waiting"
    opened: Any = None
    waiting: int = 0

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """The call, or the answer."""
        last = (llm_request.contents[-1].parts or [Part()])[-1]
        if last.function_response is not None:
            self.waiting += 1
            await self.opened.wait()
            part = Part(text="It is sunny.")
        else:
            part = Part(function_call=FunctionCall(id="call", name="get_weather", args={"city": "Paris"}))
        yield LlmResponse(content=Content(role="model", parts=[part]))


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"sunny, 22C in {city}"


async def _kept(distribution: Path) -> float:
    """How many objects that the collector counts each turn in flight keeps."""
    service, model = InMemorySessionService(), _Waiting(opened=asyncio.Event())
    agent = LlmAgent(name="a", model=model, instruction="Be concise.", tools=[get_weather])
    runner = Runner(app_name="app", agent=agent, session_service=service, distribution=str(distribution))

    async def turn() -> None:
        session = await service.create_session(app_name="app", user_id="u")
        async for _ in runner.run_async(user_id="u", session_id=session.id, new_message="What is the weather?"):
            pass

    model.opened.set()
    for _ in range(50):
        await turn()
    model.opened.clear()
    model.waiting = 0
    gc.collect()
    gc.disable()
    try:
        before = gc.get_count()[0]
        turns = [asyncio.ensure_future(turn()) for _ in range(_TURNS)]
        while model.waiting < _TURNS:
            await asyncio.sleep(0)
        kept = (gc.get_count()[0] - before) / _TURNS
    finally:
        gc.enable()
    model.opened.set()
    await asyncio.gather(*turns)
    return kept


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the asyncio of each version makes other objects")
def test_a_turn_that_waits_for_its_model_keeps_few_objects(tmp_path: Path) -> None:
    steady = tmp_path / "steady.yaml"
    steady.write_text(
        json.dumps({"name": "steady", "extends": "standard", "settings": {"tool_threads": {"quick": 60}}}), "utf-8"
    )
    assert asyncio.run(_kept(steady)) <= _MOST
