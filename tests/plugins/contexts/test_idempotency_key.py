"""Context.idempotency_key: the same for every attempt at a call, and another one for any other call."""

from __future__ import annotations

import asyncio
import itertools
import re
from typing import Any

from newel.agents import LlmAgent
from newel.apps import App, ResumabilityConfig
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel.tools import ToolContext
from newel_kernel import Event, seam

#: Ids that give the same text as others once they are joined, and one that no server takes as a header.
_IDS = ["a", "b", "a:b", "a:a", '"', "a\ud800", "ü" * 300]


def shop(call: Any, app_name: str, call_id: str, keys: list[str], store: InMemorySessionService) -> Runner:
    def pay(tool_context: ToolContext) -> str:
        keys.append(tool_context.idempotency_key)
        return "paid"

    agent = LlmAgent(name="till", model=ScriptedModel([call("pay", id=call_id), "ok", "ok"]), tools=[pay])
    app = App.model_construct(
        name=app_name, root_agent=agent, plugins=[], resumability_config=ResumabilityConfig(is_resumable=True)
    )
    return Runner(app=app, session_service=store, auto_create_session=True)


async def run(runner: Runner, user_id: str, session_id: str, **options: Any) -> list[Event]:
    return [event async for event in runner.run_async(user_id=user_id, session_id=session_id, **options)]


def test_each_app_user_session_and_call_has_a_key_of_its_own(call: Any, monkeypatch: Any) -> None:
    async def main() -> None:
        keys: list[str] = []
        names = [*itertools.product(["a", "b", "a:b"], repeat=4), *((one, one, one, "c") for one in _IDS[3:])]
        for app_name, user_id, session_id, call_id in names:
            # The same invocation id everywhere: what else a key has must tell the calls apart.
            monkeypatch.setattr(seam, "new_id", map(str, itertools.count()).__next__)
            runner = shop(call, app_name, call_id, keys, InMemorySessionService())
            await run(runner, user_id, session_id, new_message="go")
        assert len(set(keys)) == len(keys) == len(names)
        assert all(re.fullmatch("[0-9a-f]{64}", key) for key in keys)

    asyncio.run(main())


def test_an_attempt_after_a_crash_has_the_same_key(call: Any) -> None:
    async def main() -> None:
        keys: list[str] = []
        first, second = InMemorySessionService(), InMemorySessionService()
        await run(shop(call, "shop", "c", keys, first), "ann", "1", new_message="go")
        before = await first.get_session(app_name="shop", user_id="ann", session_id="1")
        assert before is not None
        # What a process leaves that dies within the tool: the message and the call, no result.
        calls = next(at for at, event in enumerate(before.events) if event.get_function_calls())
        crashed = await second.create_session(app_name="shop", user_id="ann", session_id="1")
        for event in before.events[: calls + 1]:
            await second.append_event(crashed, event)
        invocation_id = before.events[0].invocation_id
        await run(shop(call, "shop", "other", keys, second), "ann", "1", invocation_id=invocation_id)
        again, other = keys[1:]  # the open call runs again, then the model makes another
        assert again == keys[0] != other

    asyncio.run(main())
