"""Every tool call gets a result, whatever ended its run; what waits for the outside stays open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from newel.plugins import BasePlugin
from newel.policies.pairing import CANCELLED, INTERRUPTED
from newel_kernel import ConfigurationError, Event
from newel_types import Content, FunctionCall, FunctionResponse, Part

CALL = {"call": "wait"}


async def wait() -> str:
    """Wait for a long time."""
    await asyncio.sleep(30)
    return "done"


def slow(log: list[str]) -> Callable[[], Any]:
    async def wait() -> str:
        """Wait for a long time."""
        log.append("started")
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            log.append("stopped")
            raise
        return "done"

    return wait


def test_a_run_that_is_closed_answers_its_calls(talk: Any, told: Any) -> None:
    async def main() -> None:
        one = talk([CALL, "again"], [wait])
        events = one.start()
        call = await anext(events)
        await events.aclose()
        session = await one.stored()
        assert told(session) == ["hello", "call:wait", {"error": CANCELLED}]
        result = session.events[-1]
        assert (result.author, result.invocation_id) == ("clerk", call.invocation_id)
        assert result.get_function_responses()[0].id == call.get_function_calls()[0].id
        assert [event.content.parts[0].text for event in await one.send("go on")] == ["again"]
        contents = one.model.requests[-1].contents
        assert [content.role for content in contents] == ["user", "model", "user", "user"]

    asyncio.run(main())


@pytest.mark.parametrize("calls", [1, 3])
def test_a_cancelled_task_waits_for_its_tools(calls: int, talk: Any, told: Any) -> None:
    async def main() -> None:
        log: list[str] = []
        one = talk([{"calls": [{"name": "wait"}] * calls}], [slow(log)])
        task = asyncio.create_task(one.send())
        while len(log) < calls:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert log == ["started"] * calls + ["stopped"] * calls
        assert told(await one.stored())[-calls:] == [{"error": CANCELLED}] * calls
        assert len((await one.stored()).events) == 3

    asyncio.run(main())


def test_the_observers_learn_of_a_cancellation(talk: Any) -> None:
    class Watch(BasePlugin):
        seen: tuple[str, ...] = ()

        async def on_run_error_callback(self, *, invocation_context: Any, error: BaseException) -> None:
            self.seen += (type(error).__name__,)

        async def after_run_callback(self, *, invocation_context: Any) -> None:
            self.seen += ("over",)

    async def main() -> None:
        watch, log = Watch("watch"), list[str]()
        task = asyncio.create_task(talk([CALL], [slow(log)], plugins=[watch]).send())
        while not log:
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert watch.seen == ("CancelledError", "over")

    asyncio.run(main())


def test_a_failed_run_answers_its_calls(talk: Any, told: Any) -> None:
    class Broken(BasePlugin):
        async def after_tool_callback(self, **_: Any) -> None:
            raise RuntimeError("broken")

    async def main() -> None:
        async def quick() -> str:
            """Be quick."""
            return "x"

        one = talk([{"call": "quick"}], [quick], plugins=[Broken("broken")])
        with pytest.raises(RuntimeError, match="broken"):
            await one.send()
        assert "PluginHookError" in told(await one.stored())[-1]["error"]

    asyncio.run(main())


async def crash(one: Any, *calls: FunctionCall, **fields: Any) -> None:
    """Leave a session as a process does that dies while tools run."""
    where = {"app_name": "desk", "user_id": "ada", "session_id": "s1"}
    session = await one.runner.session_service.create_session(**where)
    parts = [Part(function_call=call) for call in calls]
    for event in (
        Event(author="user", invocation_id="e-1", message="hello"),
        Event(author="clerk", invocation_id="e-1", content=Content(role="model", parts=parts), **fields),
    ):
        await one.runner.session_service.append_event(session, event)


def test_a_new_message_answers_what_a_crash_left_open(talk: Any, told: Any) -> None:
    async def main() -> None:
        one = talk(["again"], [wait])
        await crash(one, FunctionCall(id="c1", name="wait"), FunctionCall(id="c2", name="wait"), branch="b")
        await one.send("go on")
        session = await one.stored()
        error = {"error": INTERRUPTED}
        assert told(session) == ["hello", "call:wait", "call:wait", error, error, "go on", "again"]
        assert (session.events[2].branch, session.events[2].invocation_id) == ("b", "e-1")

    asyncio.run(main())


def test_a_call_is_answered_once(talk: Any, told: Any) -> None:
    async def main() -> None:
        one = talk(["again", "and again"], [wait])
        await crash(one, FunctionCall(id="c1", name="wait"))
        await one.send("go on")
        await one.send("go on")
        assert told(await one.stored()).count({"error": INTERRUPTED}) == 1

    asyncio.run(main())


def test_what_waits_for_the_outside_stays_open(talk: Any, told: Any) -> None:
    async def main() -> None:
        one = talk(["again"], [wait])
        await crash(one, FunctionCall(id="c1", name="wait"), long_running_tool_ids={"c1"})
        await one.send("go on")
        assert told(await one.stored()) == ["hello", "call:wait", "go on", "again"]

    asyncio.run(main())


def test_a_call_that_a_sub_agent_works_on_stays_open(talk: Any, told: Any) -> None:
    async def main() -> None:
        one = talk(["again"], [wait])
        await crash(one, FunctionCall(id="c1", name="wait"))
        session = await one.stored()
        working = Event(author="clerk", invocation_id="e-1", message="working", isolation_scope="c1")
        await one.runner.session_service.append_event(session, working)
        await one.send("go on")
        assert told(await one.stored()) == ["hello", "call:wait", "working", "go on", "again"]

    asyncio.run(main())


def test_a_message_cannot_answer_the_call(talk: Any, told: Any) -> None:
    async def main() -> None:
        one = talk(["thanks"], [wait])
        await crash(one, FunctionCall(id="c1", name="wait"))
        answer = Part(function_response=FunctionResponse(id="c1", name="wait", response={"result": 1}))
        with pytest.raises(ConfigurationError, match="'c1' does not wait for an answer"):
            await one.send(Content(role="user", parts=[answer]))
        assert told(await one.stored()) == ["hello", "call:wait"]

    asyncio.run(main())


def test_calls_that_were_rewound_are_forgotten(talk: Any, told: Any) -> None:
    async def main() -> None:
        one = talk(["again"], [wait])
        await crash(one, FunctionCall(id="c1", name="wait"))
        await one.runner.rewind_async(user_id="ada", session_id="s1", rewind_before_invocation_id="e-1")
        await one.send("go on")
        assert told(await one.stored()) == ["hello", "call:wait", "go on", "again"]

    asyncio.run(main())


def test_a_rewind_that_is_taken_back_brings_open_calls_back(talk: Any, told: Any) -> None:
    async def main() -> None:
        one = talk(["again"], [wait])
        await crash(one, FunctionCall(id="c1", name="wait"))
        for before in ("e-1", None):  # the second one takes the first one back
            rewind = before or (await one.stored()).events[-1].invocation_id
            await one.runner.rewind_async(user_id="ada", session_id="s1", rewind_before_invocation_id=rewind)
        await one.send("go on")
        assert told(await one.stored()) == ["hello", "call:wait", {"error": INTERRUPTED}, "go on", "again"]

    asyncio.run(main())


def test_a_resumed_invocation_runs_its_calls_again(talk: Any, told: Any) -> None:
    async def wait() -> dict[str, bool]:
        """Do not wait."""
        return {"ran": True}

    async def main() -> None:
        one = talk(["done"], [wait], resumable=True)
        await crash(one, FunctionCall(id="c1", name="wait"))
        await one.send(None, invocation_id="e-1")
        assert told(await one.stored())[:4] == ["hello", "call:wait", {"ran": True}, "done"]

    asyncio.run(main())


def test_the_distribution_adk_leaves_calls_open(talk: Any, told: Any) -> None:
    async def main() -> None:
        one = talk([CALL], [wait], distribution="adk")
        events = one.start()
        await anext(events)
        await events.aclose()
        assert told(await one.stored()) == ["hello", "call:wait"]

    asyncio.run(main())
