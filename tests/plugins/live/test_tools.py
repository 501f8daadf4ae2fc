"""Tools within a live session: those that the model waits for, and those that run beside the conversation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from tests.plugins.live.live_runs import Live, audio, result, told

from newel.agents import LiveRequestQueue, LlmAgent
from newel.models.live import ConnectionLostError
from newel.testing import TURN_COMPLETE, Pause, ScriptedLiveModel, WaitFor
from newel.tools import BaseTool, FunctionTool, LongRunningFunctionTool, ToolContext
from newel_kernel import Event, LlmResponse
from newel_types import (
    Behavior,
    Content,
    FunctionCall,
    FunctionDeclaration,
    FunctionResponse,
    FunctionResponseScheduling,
    LiveServerSessionResumptionUpdate,
    LiveServerToolCallCancellation,
    Part,
)


def call(name: str, call_id: str | None = "c1", **args: Any) -> FunctionCall:
    return FunctionCall(name=name, args=args, id=call_id)


def responses(live: Live, connection: int = 0) -> list[FunctionResponse]:
    """What the model was told, one after the other."""
    sent = live.model.connections[connection].of("results")
    return [part.function_response for content in sent for part in content.parts]


def add(a: int, b: int) -> dict[str, int]:
    """Add."""
    return {"sum": a + b}


def test_results_are_stored_then_sent_and_a_call_without_an_id_gets_one() -> None:
    async def whole() -> None:
        live = Live(
            [WaitFor("content"), call("add", None, a=1, b=2), WaitFor("results"), "3", TURN_COMPLETE], tools=[add]
        )
        events = await live.run("add")
        assert [told(event) for event in events] == ["call add", "result add", "root: 3", "turn"]
        (sent,) = responses(live)
        assert (sent.id or "").startswith("adk-")
        assert sent.response == {"sum": 3}
        assert [told(event) for event in await live.stored()][1:3] == ["call add", "result add"]

    asyncio.run(whole())


def test_calls_of_one_response_run_side_by_side_and_answer_in_their_order() -> None:
    async def whole() -> None:
        met = asyncio.Event()

        async def waits() -> str:
            """Wait."""
            await met.wait()
            return "met"

        async def meets() -> str:
            """Meet."""
            met.set()
            return "set"

        parts = [Part(function_call=call("waits", "c1")), Part(function_call=call("meets", "c2"))]
        both = LlmResponse(content=Content(role="model", parts=parts))
        live = Live([WaitFor("content"), both, WaitFor("results"), TURN_COMPLETE], tools=[waits, meets])
        await live.run("go")
        assert [one.id for one in responses(live)] == ["c1", "c2"]
        assert len(live.model.connections[0].of("results")) == 1

    asyncio.run(whole())


PAY = Part(function_call=call("pay", "c1", amount=100))
ONE = LlmResponse(content=Content(role="model", parts=[PAY]))


@pytest.mark.parametrize("distribution", ["adk", "standard"])
@pytest.mark.parametrize(
    "script",
    [
        [ONE, ONE, WaitFor("results")],
        [LlmResponse(content=Content(role="model", parts=[PAY, PAY])), WaitFor("results")],
        [LlmResponse(content=Content(role="model", parts=[Part(text="so"), PAY])), ONE, WaitFor("results")],
        [ONE, WaitFor("results"), ONE],
        [ONE, WaitFor("results"), LlmResponse(content=Content(role="model", parts=[PAY, Part(text="so")]))],
    ],
    ids=["twice", "in one response", "with words", "after the result", "after the result, with words"],
)
def test_a_call_that_is_delivered_twice_runs_once(script: list[Any], distribution: str) -> None:
    paid: list[int] = []

    async def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        await asyncio.sleep(0)
        return "paid"

    async def whole() -> None:
        steps = [one.model_copy(deep=True) if isinstance(one, LlmResponse) else one for one in script]
        live = Live([WaitFor("content"), *steps, "done", TURN_COMPLETE], tools=[pay], distribution=distribution)
        events = await live.run("go")
        assert (paid, [one.id for one in responses(live)]) == ([100], ["c1"])
        ids = [one.id for event in events for one in event.get_function_calls()]
        assert ids == [one.id for event in events for one in event.get_function_responses()] == ["c1"]

    asyncio.run(whole())


HANDLE = LlmResponse(live_session_resumption_update=LiveServerSessionResumptionUpdate(new_handle="h", resumable=True))
LOST = ConnectionLostError("the connection was cut")


@pytest.mark.parametrize("distribution", ["adk", "standard"])
@pytest.mark.parametrize(
    "scripts",
    [
        ([ONE, WaitFor("results"), Pause(0.02), LOST], [ONE]),
        ([ONE, Pause(0.02), LOST], [ONE]),
        ([ONE, LOST], [ONE]),
        ([ONE, ONE, LOST], [ONE, ONE]),
        ([ONE, LOST], [Pause(0), LOST], [ONE]),
    ],
    ids=["answered", "worked on", "at once", "twice each", "over the third"],
)
def test_a_call_that_comes_again_over_another_connection_runs_once(scripts: Any, distribution: str) -> None:
    paid: list[int] = []
    first, *middle, last = ([one.model_copy(deep=True) if one is ONE else one for one in way] for way in scripts)
    answered = any(isinstance(one, WaitFor) for one in first)
    sent_again = [] if answered else [WaitFor("results")]
    ways = [[WaitFor("content"), HANDLE, *first], *middle, [*last, *sent_again, "done", TURN_COMPLETE]]

    async def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        while not answered and len(live.model.connections) < len(ways):
            await asyncio.sleep(0.001)  # the result is there when the last connection is
        return "paid"

    live = Live(*ways, tools=[pay], distribution=distribution, acknowledges=True)

    async def whole() -> None:
        events = await live.run("go")
        assert paid == [100]
        results = [one.id for number in range(len(ways)) for one in responses(live, number)]
        assert results == ["c1"]
        ids = [one.id for event in events for one in event.get_function_calls()]
        assert ids == [one.id for event in events for one in event.get_function_responses()] == ["c1"]

    asyncio.run(whole())


@pytest.mark.parametrize("distribution", ["adk", "standard"])
def test_a_transfer_that_comes_twice_is_one_and_the_same_id_of_another_agent_is_another_call(distribution: str) -> None:
    paid: list[str] = []

    def pay(amount: int, tool_context: ToolContext) -> str:
        """Pay."""
        paid.append(tool_context.agent_name)
        return "paid"

    def twice(of: FunctionCall) -> list[LlmResponse]:
        return [
            LlmResponse(content=Content(role="model", parts=[Part(function_call=of.model_copy())])) for _ in range(2)
        ]

    async def whole() -> None:
        pays, away = call("pay", "c1", amount=100), call("transfer_to_agent", "c2", agent_name="sub")
        there = ScriptedLiveModel([WaitFor("history"), *twice(pays), WaitFor("results"), "done", TURN_COMPLETE])
        sub = LlmAgent(name="sub", model=there, tools=[pay])
        here = ScriptedLiveModel([WaitFor("content"), *twice(pays), WaitFor("results"), *twice(away), Pause(30)])
        root = LlmAgent(name="root", model=here, tools=[pay], sub_agents=[sub])
        events = await Live(agent=root, distribution=distribution).run("go")
        assert paid == ["root", "sub"]
        calls = [(event.author, one.id) for event in events for one in event.get_function_calls()]
        assert calls == [("root", "c1"), ("root", "c2"), ("sub", "c1")]

    asyncio.run(whole())


@pytest.mark.parametrize("distribution", ["adk", "standard"])
def test_a_tool_that_raises_ends_the_run_or_is_answered_as_the_distribution_says(distribution: str) -> None:
    def breaks() -> None:
        """Break."""
        raise ValueError("broken")

    async def whole() -> None:
        script = [WaitFor("content"), call("breaks"), WaitFor("results"), "sorry", TURN_COMPLETE]
        live = Live(script, tools=[breaks], distribution=distribution)
        if distribution == "adk":
            with pytest.raises(ValueError, match="broken"):
                await live.run("go")
        else:
            await live.run("go")
            assert "broken" in str(responses(live)[0].response)
        assert live.model.left == live.model.connections

    asyncio.run(whole())


def test_a_long_running_call_is_answered_through_the_queue() -> None:
    def begin() -> None:
        """Begin."""

    async def whole() -> None:
        script = [WaitFor("content"), call("begin"), "begun", TURN_COMPLETE, WaitFor("results"), "done", TURN_COMPLETE]
        live = Live(script, tools=[LongRunningFunctionTool(begin)])

        def answer(event: Event, queue: LiveRequestQueue) -> None:
            if told(event) == "turn" and len(live.events) < 4:
                queue.send_content(result("begin", {"ticket": 1}, "c1"))

        events = await live.run("go", turns=2, react=answer)
        assert [told(event) for event in events] == ["call begin", "root: begun", "turn", "root: done", "turn"]
        assert events[0].long_running_tool_ids == {"c1"}

    asyncio.run(whole())


def test_a_call_that_the_service_takes_back_is_cancelled_and_nothing_is_sent() -> None:
    ended: list[str] = []

    async def slow(tool_context: ToolContext) -> str:
        """Slow."""
        tool_context.send_audio(audio())  # by which the service knows that it runs
        try:
            await asyncio.sleep(30)
        finally:
            ended.append("slow")
        return "never"

    async def whole() -> None:
        back = LlmResponse(tool_call_cancellation=LiveServerToolCallCancellation(ids=["c1"]))
        live = Live(
            [WaitFor("content"), call("slow"), WaitFor("blob"), back, "as you like", TURN_COMPLETE], tools=[slow]
        )
        events = await live.run("go")
        assert [told(event) for event in events] == ["call slow", "result slow", "root: as you like", "turn"]
        assert "cancelled" in str(events[1].get_function_responses()[0].response)
        assert ended == ["slow"]
        assert responses(live) == []

    asyncio.run(whole())


def test_a_non_blocking_tool_runs_while_the_conversation_goes_on() -> None:
    async def whole() -> None:
        go = asyncio.Event()

        async def look() -> str:
            """Look."""
            await go.wait()
            return "seen"

        tool = FunctionTool(look)
        tool.response_scheduling = FunctionResponseScheduling.WHEN_IDLE  # type: ignore[attr-defined]
        script = [WaitFor("content"), call("look"), "meanwhile", WaitFor("results"), "it is seen", TURN_COMPLETE]
        live = Live(script, tools=[tool])

        def react(event: Event, queue: LiveRequestQueue) -> None:
            if told(event) == "root: meanwhile":
                go.set()

        events = await live.run("go", react=react)
        assert [told(event) for event in events] == [
            "call look",
            "root: meanwhile",
            "result look",
            "root: it is seen",
            "turn",
        ]
        assert responses(live)[0].scheduling is FunctionResponseScheduling.WHEN_IDLE
        declared = live.model.requests[0].config.tools[0].function_declarations[0]
        assert declared.behavior is Behavior.NON_BLOCKING
        assert "result look" in [told(event) for event in await live.stored()]

    asyncio.run(whole())


def test_a_streaming_tool_tells_the_model_as_it_goes_and_its_last_item_is_the_last() -> None:
    async def watch(symbol: str) -> AsyncGenerator[Any, None]:
        """Watch."""
        await asyncio.sleep(0.01)
        yield {"price": 1, "of": symbol}
        await asyncio.sleep(0.01)
        yield 2

    async def whole() -> None:
        script = [WaitFor("content"), call("watch", symbol="X"), WaitFor("results", 3), "seen", TURN_COMPLETE]
        live = Live(script, tools=[watch])
        events = await live.run("watch X")
        assert [told(event) for event in events] == ["call watch", "result watch", "root: seen", "turn"]
        pending, first, second = responses(live)
        assert list(pending.response or {}) == ["status"]
        assert (first.response, first.will_continue) == ({"price": 1, "of": "X"}, True)
        assert (second.response, second.will_continue) == ({"result": 2}, False)
        assert {one.id for one in (pending, first, second)} == {"c1"}

    asyncio.run(whole())


def test_what_a_streaming_tool_shows_the_user_is_committed_before_it_goes_on() -> None:
    stored: list[int] = []

    async def whole() -> None:
        async def show(tool_context: ToolContext) -> AsyncGenerator[Any, None]:
            """Show."""
            yield Event(message="look")
            stored.append(len(tool_context.session.events))
            yield "shown"

        live = Live([WaitFor("content"), call("show"), WaitFor("results", 2), "ok", TURN_COMPLETE], tools=[show])
        events = await live.run("go")
        shown = next(event for event in events if told(event) == "root: look")
        assert (shown.branch, shown.content.role if shown.content else None) == ("show@c1", "user")
        assert stored == [4]  # what was typed, the call, its first result, the event

    asyncio.run(whole())


def test_a_streaming_tool_that_fails_tells_the_model_in_general_words_and_the_session_in_its_own() -> None:
    async def watch() -> AsyncGenerator[Any, None]:
        """Watch."""
        yield 1
        raise ValueError("the pump is broken")

    async def whole() -> None:
        script = [WaitFor("content"), call("watch"), WaitFor("results", 3), "sorry", TURN_COMPLETE]
        live = Live(script, tools=[watch], distribution="standard")
        events = await live.run("go")
        assert "watch" in str(responses(live)[2].response)
        assert "pump" not in str(responses(live)[2].response)
        failures = [event.error_message or "" for event in events if event.error_code == "TOOL_FAILED"]
        assert ["the pump is broken" in one for one in failures] == [True]

    asyncio.run(whole())


def test_a_tool_that_listens_hears_what_is_said_while_it_runs() -> None:
    async def listen(input_stream: LiveRequestQueue) -> AsyncGenerator[Any, None]:
        """Listen."""
        while (request := await input_stream.get()) is not None and not request.close:
            if request.blob is not None:
                yield {"heard": len(request.blob.data or b"")}

    async def whole() -> None:
        script = [WaitFor("blob"), call("listen"), WaitFor("results"), "go on", WaitFor("results"), "ok", TURN_COMPLETE]
        live = Live(script, tools=[listen])

        def speak(event: Event, queue: LiveRequestQueue) -> None:
            if told(event) == "root: go on":
                queue.send_realtime(audio(b"\1\0\1\0"))

        await live.run(audio(), react=speak)
        assert [one.response for one in responses(live)][1:] == [{"heard": 4}]
        declared = live.model.requests[0].config.tools[0].function_declarations[0]
        assert "input_stream" not in str(declared.parameters_json_schema)

    asyncio.run(whole())


def test_a_tool_with_run_live_speaks_into_the_session() -> None:
    class Echo(BaseTool):
        def __init__(self) -> None:
            super().__init__(name="echo", description="Echo.")

        def _get_declaration(self) -> FunctionDeclaration:
            return FunctionDeclaration(name="echo", description="Echo.")

        async def run_live(self, *, tool_context: ToolContext, stream: LiveRequestQueue) -> None:
            while (request := await stream.get()) is not None:
                if request.content is not None:
                    tool_context.send_audio(audio(b"\7\0"))

    async def whole() -> None:
        script = [WaitFor("content"), call("echo"), WaitFor("results"), "say it", WaitFor("blob"), TURN_COMPLETE]
        live = Live(script, tools=[Echo()])

        def say(event: Event, queue: LiveRequestQueue) -> None:
            if told(event) == "root: say it":
                queue.send_content(Content(role="user", parts=[Part(text="hello")]))

        await live.run("go", react=say)
        assert live.model.connections[0].of("blob") == [audio(b"\7\0")]

    asyncio.run(whole())


def test_stop_streaming_ends_every_call_of_a_tool() -> None:
    ended: list[str] = []

    async def watch() -> AsyncGenerator[Any, None]:
        """Watch."""
        try:
            yield 1
            await asyncio.sleep(30)
        finally:
            ended.append("watch")

    def stop_streaming(function_name: str) -> None:
        """Stop."""

    async def whole() -> None:
        stop = call("stop_streaming", "s1", function_name="watch")
        again = call("stop_streaming", "s2", function_name="watch")
        script = [
            WaitFor("content"),
            call("watch", "c1"),
            call("watch", "c2"),
            WaitFor("results", 4),
            stop,
            WaitFor("results"),
            again,
            WaitFor("results"),
            "ok",
            TURN_COMPLETE,
        ]
        live = Live(script, tools=[watch, stop_streaming])
        await live.run("go")
        said = {one.id: str(one.response) for one in responses(live)}
        assert ended == ["watch", "watch"]
        assert "stopped" in said["s1"]
        assert "No streaming function" in said["s2"]

    asyncio.run(whole())


@pytest.mark.parametrize("leaves", [True, False])
def test_nothing_runs_on_after_the_run(leaves: bool) -> None:
    ended: list[str] = []

    async def watch() -> AsyncGenerator[Any, None]:
        """Watch."""
        try:
            yield 1
            await asyncio.sleep(30)
        finally:
            ended.append("watch")

    async def whole() -> None:
        script = [WaitFor("content"), call("watch"), WaitFor("results", 2), "ok", TURN_COMPLETE]
        live = Live([*script, ValueError("bad frame")], tools=[watch])
        before = asyncio.all_tasks()
        if leaves:
            await live.run("go")
        else:
            with pytest.raises(ValueError, match="bad frame"):
                await live.run("go", turns=0)
        assert ended == ["watch"]
        assert asyncio.all_tasks() == before

    asyncio.run(whole())


def test_an_approval_is_asked_for_within_the_session_and_the_tool_runs_then() -> None:
    ran: list[str] = []

    def wipe(what: str) -> dict[str, str]:
        """Wipe."""
        ran.append(what)
        return {"wiped": what}

    async def whole() -> None:
        script = [WaitFor("content"), call("wipe", what="disk"), WaitFor("results"), "it is gone", TURN_COMPLETE]
        live = Live(script, tools=[FunctionTool(wipe, require_confirmation=True)])

        def approve(event: Event, queue: LiveRequestQueue) -> None:
            for asked in event.get_function_calls():
                if asked.name == "adk_request_confirmation":
                    assert ran == []
                    queue.send_content(result("adk_request_confirmation", {"confirmed": True}, asked.id or ""))

        await live.run("wipe it", react=approve)
        assert ran == ["disk"]
        assert [(one.name, one.response) for one in responses(live)] == [("wipe", {"wiped": "disk"})]
        kinds = [told(event) for event in await live.stored()]
        assert kinds.count("result adk_request_confirmation") == 1

    asyncio.run(whole())
