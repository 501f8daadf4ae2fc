"""How connections end, and how a session goes on over others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.plugins.live.live_runs import Live, audio, told

from newel.agents import CallbackContext, LiveRequestQueue, LlmAgent, RunConfig, SequentialAgent
from newel.models.live import CONNECTION_NUMBER, ConnectionLostError
from newel.testing import CLOSED, TURN_COMPLETE, Pause, ScriptedLiveModel, WaitFor
from newel_compose import Distribution, compose
from newel_kernel import (
    CompositionError,
    Event,
    LlmCallsLimitExceededError,
    LlmRequest,
    LlmResponse,
    Observer,
    Signal,
    hookimpl,
)
from newel_types import Content, FunctionCall, LiveServerGoAway, LiveServerSessionResumptionUpdate, Part, Transcription

LOST = ConnectionLostError("the connection was cut")
HALF = LlmResponse(content=Content(role="model", parts=[Part(text="half")]), partial=True)


def handle(name: str) -> LlmResponse:
    update = LiveServerSessionResumptionUpdate(new_handle=name, resumable=True)
    return LlmResponse(live_session_resumption_update=update)


def go_away(left: str = "5s") -> LlmResponse:
    return LlmResponse(go_away=LiveServerGoAway(time_left=left))


def texts(contents: list[Content]) -> list[str]:
    return [part.text or "" for content in contents for part in content.parts or ()]


def test_a_lost_session_with_a_handle_goes_on_and_half_an_answer_is_not_stored() -> None:
    async def whole() -> None:
        live = Live([WaitFor("content"), handle("h-1"), HALF, LOST], ["whole", TURN_COMPLETE])
        events = await live.run("hi")
        assert [told(event) for event in events] == ["handle h-1", "root: half ...", "root: whole", "turn"]
        assert [told(event) for event in await live.stored()] == ["user: hi", "handle h-1", "root: whole", "turn"]
        made = live.model.requests[1]
        assert made.live_connect_config.session_resumption.handle == "h-1"
        assert made.stash[CONNECTION_NUMBER] == 2
        assert live.model.connections[1].sent == []  # neither the history nor what was answered

    asyncio.run(whole())


@pytest.mark.parametrize("closed", [True, False])
def test_a_loss_without_a_handle_or_after_the_client_closed_is_raised(closed: bool) -> None:
    async def whole() -> None:
        live = Live([WaitFor("content"), *([handle("h-1")] if closed else []), Pause(0.02), LOST], ["never"])
        if closed:
            live.queue._closed = True
        with pytest.raises(ConnectionError, match="cut"):
            await live.run("hi")
        assert len(live.model.requests) == 1

    asyncio.run(whole())


def test_a_normal_end_without_a_handle_ends_the_run_and_with_one_is_a_loss() -> None:
    async def whole() -> None:
        normal = ConnectionLostError("closed", 1000)
        live = Live([WaitFor("content"), "bye", TURN_COMPLETE, normal])
        assert [told(event) for event in await live.run("hi", turns=0)] == ["root: bye", "turn"]
        live = Live([WaitFor("content"), handle("h"), normal], ["back", TURN_COMPLETE])
        assert [told(event) for event in await live.run("hi")] == ["handle h", "root: back", "turn"]

    asyncio.run(whole())


def test_after_five_attempts_the_loss_is_raised_and_success_counts_anew() -> None:
    async def whole() -> None:
        live = Live([WaitFor("content"), handle("h"), LOST], *[[LOST]] * 9)
        with pytest.raises(ConnectionError):
            await live.run("hi")
        assert len(live.model.requests) == 6
        live = Live(
            [WaitFor("content"), handle("h"), LOST], *([*[[LOST]] * 4, ["x", LOST]] * 3), ["end", TURN_COMPLETE]
        )
        assert told((await live.run("hi"))[-1]) == "turn"

    asyncio.run(whole())


def test_what_was_not_confirmed_is_sent_again_in_order_and_nothing_twice() -> None:
    async def whole() -> None:
        live = Live([handle("h"), WaitFor("blob", 4), LOST], [WaitFor("blob", 2), TURN_COMPLETE], acknowledges=True)
        chunks = [audio(bytes([n, 0])) for n in range(4)]
        opened = live.model

        def cut(event: Event, queue: LiveRequestQueue) -> None:
            opened.connections[0]._acknowledges = False
            opened.connections[0].inputs_taken = 2
            for chunk in chunks:
                queue.send_realtime(chunk)

        await live.run(react=lambda event, queue: cut(event, queue) if told(event) == "handle h" else None)
        assert opened.connections[1].of("blob") == chunks[2:]

    asyncio.run(whole())


def test_words_that_nothing_has_come_back_for_are_sent_again() -> None:
    async def whole() -> None:
        live = Live([handle("h"), WaitFor("content"), LOST], [WaitFor("content"), "I hear you", TURN_COMPLETE])

        def say(event: Event, queue: LiveRequestQueue) -> None:
            if told(event) == "handle h":
                live.put("do you hear me?")

        await live.run(react=say)
        assert texts(live.model.connections[1].of("content")) == ["do you hear me?"]
        assert [told(event) for event in await live.stored()].count("user: do you hear me?") == 1

    asyncio.run(whole())


def test_the_change_over_waits_for_the_end_of_the_turn() -> None:
    async def whole() -> None:
        first = [WaitFor("content"), handle("h"), "one", go_away(), Pause(0.02), "two", TURN_COMPLETE]
        live = Live([*first, WaitFor("content", 9)], [WaitFor("content"), "three", TURN_COMPLETE])

        def more(event: Event, queue: LiveRequestQueue) -> None:
            if told(event) == "turn" and len(live.model.requests) == 1:
                live.put("more")

        events = await live.run("hi", turns=2, react=more)
        assert [told(event) for event in events][1:] == ["root: one", "root: two", "turn", "root: three", "turn"]
        assert texts(live.model.connections[1].of("content")) == ["more"]

    asyncio.run(whole())


def test_the_change_over_does_not_wait_longer_than_the_service() -> None:
    async def whole() -> None:
        live = Live(
            [WaitFor("content"), handle("h"), "one", go_away("0.51s"), WaitFor("content", 9)], ["two", TURN_COMPLETE]
        )
        assert [told(event) for event in await live.run("hi")] == ["handle h", "root: one", "root: two", "turn"]

    asyncio.run(whole())


def test_without_a_handle_going_away_changes_nothing() -> None:
    async def whole() -> None:
        live = Live([WaitFor("content"), go_away("0s"), "one", TURN_COMPLETE, CLOSED])
        assert [told(event) for event in await live.run("hi", turns=0)] == ["root: one", "turn"]

    asyncio.run(whole())


def test_a_sender_that_fails_ends_the_run_at_once() -> None:
    async def whole() -> None:
        live = Live([WaitFor("content"), "ok", TURN_COMPLETE, WaitFor("content", 9)])

        async def refuse(blob: Any) -> None:
            raise RuntimeError("no ears")

        def speak(event: Event, queue: LiveRequestQueue) -> None:
            if told(event) == "turn":
                live.model.connections[0].send_realtime = refuse  # type: ignore[method-assign]
                queue.send_realtime(audio())

        with pytest.raises(RuntimeError, match="no ears"):
            await live.run("hi", turns=0, react=speak)

    asyncio.run(whole())


def test_a_service_that_is_silent_while_an_answer_is_due_is_a_loss() -> None:
    async def whole() -> None:
        live = Live([WaitFor("content"), "x", WaitFor("content", 9)], settings={"silence_seconds": 0.05})
        with pytest.raises(ConnectionError, match="has sent nothing for"):
            await live.run("hi")
        live = Live([Pause(0.2), "unasked", TURN_COMPLETE], settings={"silence_seconds": 0.05})
        assert [told(event) for event in await live.run()] == ["root: unasked", "turn"]

    asyncio.run(whole())


def test_leaving_takes_two_seconds_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("newel.live.link.LEAVING", 0.05)

    async def whole() -> None:
        live = Live([WaitFor("content"), "ok", TURN_COMPLETE])
        manager = type(live.model).connect

        class Stalled:
            def __init__(self, request: Any) -> None:
                self.inner = manager(live.model, request)

            async def __aenter__(self) -> Any:
                return await self.inner.__aenter__()

            async def __aexit__(self, *_: object) -> None:
                await asyncio.sleep(3600)

        monkeypatch.setattr(type(live.model), "connect", lambda self, request: Stalled(request))
        async with asyncio.timeout(60):
            await live.run("hi")

    asyncio.run(whole())


# --- several agents ---------------------------------------------------------------------------------------------------


def transfer(name: str, call_id: str) -> FunctionCall:
    return FunctionCall(name="transfer_to_agent", args={"agent_name": name}, id=call_id)


def test_a_transfer_there_and_back_is_one_connection_after_the_other() -> None:
    async def whole() -> None:
        there = ScriptedLiveModel(
            [WaitFor("history"), "sub here", TURN_COMPLETE, WaitFor("content"), transfer("root", "c2"), Pause(30)]
        )
        back = [WaitFor("history"), "root again", TURN_COMPLETE]
        root_model = ScriptedLiveModel([WaitFor("content"), transfer("sub", "c1"), Pause(30)], back)
        sub = LlmAgent(name="sub", model=there, description="Sub.")
        live = Live(agent=LlmAgent(name="root", model=root_model, sub_agents=[sub]))

        def ask(event: Event, queue: LiveRequestQueue) -> None:
            if event.turn_complete and event.author == "sub":
                assert root_model.left == root_model.connections
                live.put("back, please")

        events = await live.run("to sub", turns=2, react=ask)
        assert [(event.author, told(event)) for event in events if event.turn_complete or event.content][-2:] == [
            ("root", "root: root again"),
            ("root", "turn"),
        ]
        assert [kind for kind, _ in root_model.connections[0].sent] == ["content", "results", "close"]
        own = [content for content in root_model.connections[1].of("history")[0] if content.role == "model"]
        assert [part.function_call.name for content in own for part in content.parts] == ["transfer_to_agent"]

    asyncio.run(whole())


def test_what_the_user_says_while_one_agent_hands_over_reaches_the_next() -> None:
    async def whole() -> None:
        there = ScriptedLiveModel([WaitFor("history"), WaitFor("blob"), "I heard it", TURN_COMPLETE])
        model = ScriptedLiveModel([WaitFor("content"), transfer("sub", "c1"), Pause(30)])
        sub = LlmAgent(name="sub", model=there)
        live = Live(agent=LlmAgent(name="root", model=model, sub_agents=[sub]))

        async def speak(event: Event, queue: LiveRequestQueue) -> None:
            if event.get_function_responses():
                queue.send_realtime(audio())
                await asyncio.sleep(0.01)  # whoever listens to the queue has time

        events = await live.run("to sub", react=speak)
        assert [told(event) for event in events][-2:] == ["sub: I heard it", "turn"]
        assert there.connections[0].of("blob") == [audio()]

    asyncio.run(whole())


@pytest.mark.parametrize("returns", ["never", "during the handover"])
def test_what_a_callback_still_had_at_a_handover_is_refused_and_can_be_said_again(returns: str) -> None:
    async def whole() -> None:
        returned = asyncio.Event()

        async def slow(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
            if texts(llm_request.contents) == ["late"]:
                await returned.wait()

        there = ScriptedLiveModel([WaitFor("history"), WaitFor("content"), "I heard it", TURN_COMPLETE])
        model = ScriptedLiveModel([WaitFor("content"), transfer("sub", "c1"), Pause(30)])
        sub = LlmAgent(name="sub", model=there)
        live = Live(agent=LlmAgent(name="root", model=model, sub_agents=[sub], before_model_callback=slow))

        async def speak(event: Event, queue: LiveRequestQueue) -> None:
            if event.get_function_calls():
                live.put("late")
            elif event.get_function_responses() and returns == "during the handover":
                returned.set()
            elif event.error_code:
                live.put("again")
            await asyncio.sleep(0.01)  # the sender has time

        events = await live.run("to sub", react=speak)
        assert [told(event) for event in events] == [
            "call transfer_to_agent",
            "result transfer_to_agent",
            "INVALID_INPUT",
            "sub: I heard it",
            "turn",
        ]
        assert "send it again" in (events[2].error_message or "")
        assert texts(model.connections[0].of("content")) == ["to sub"]
        assert texts(there.connections[0].of("content")) == ["again"]
        assert "user: late" in [told(event) for event in await live.stored()]

    asyncio.run(whole())


def test_a_callback_that_still_has_an_input_where_the_session_begins_anew_is_told() -> None:
    async def whole() -> None:
        def heard(text: str) -> LlmResponse:
            return LlmResponse(input_transcription=Transcription(text=text, finished=True))

        async def screen(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
            if texts(llm_request.contents) == ["late"]:
                await asyncio.Event().wait()
            bad = texts(llm_request.contents) == ["bad"]
            return LlmResponse(content=Content(role="model", parts=[Part(text="no")])) if bad else None

        first = [WaitFor("blob"), Pause(0.05), heard("bad"), Pause(30)]
        live = Live(first, [WaitFor("history"), "go on", TURN_COMPLETE], before_model_callback=screen)
        events = await live.run(audio(), "late", turns=2)
        assert [told(event) for event in events] == ["heard bad", "root: no", "INVALID_INPUT", "root: go on", "turn"]

    asyncio.run(whole())


def test_a_tool_of_the_users_own_named_task_completed_ends_nothing() -> None:
    def task_completed() -> str:
        """Tick a task off."""
        return "ticked"

    async def whole() -> None:
        done = FunctionCall(name="task_completed", args={}, id="c1")
        live = Live([WaitFor("content"), done, WaitFor("results"), "what next?", TURN_COMPLETE], tools=[task_completed])
        events = await live.run("tick it off")
        assert [told(event) for event in events][-2:] == ["root: what next?", "turn"]

    asyncio.run(whole())


def test_own_words_are_quoted_only_before_a_transfer() -> None:
    async def whole() -> None:
        def said(words: str) -> LlmResponse:
            content = Content(role="model", parts=[Part(text=words)])
            return LlmResponse(content=content, live_session_id="live-1")

        there = ScriptedLiveModel([WaitFor("history"), said("sub here"), transfer("root", "c2"), Pause(30)])
        first = [WaitFor("content"), said("one moment"), transfer("sub", "c1"), Pause(30)]
        model = ScriptedLiveModel(first, [said("again"), TURN_COMPLETE], [WaitFor("content"), "so", TURN_COMPLETE])
        sub = LlmAgent(name="sub", model=there)
        live = Live(agent=LlmAgent(name="root", model=model, sub_agents=[sub]))
        await live.run("go")
        await live.run("on")
        back, later = (connection.of("history")[0] for connection in model.connections[1:])
        own = {"[root] said: one moment": "user", "again": "model"}
        told_ = [{p.text: c.role for c in history for p in c.parts if p.text in own} for history in (back, later)]
        assert told_ == [{"[root] said: one moment": "user"}, own]

    asyncio.run(whole())


def test_a_sequence_goes_on_when_a_task_is_completed_and_its_agents_stay_as_they_are() -> None:
    async def whole() -> None:
        done = FunctionCall(name="task_completed", args={}, id="c1")
        agents = [
            LlmAgent(name="one", model=ScriptedLiveModel([WaitFor("content"), "first", done, Pause(30)])),
            LlmAgent(name="two", model=ScriptedLiveModel([WaitFor("history"), "second", done, Pause(30)])),
        ]
        live = Live(agent=SequentialAgent(name="steps", sub_agents=list(agents)))
        events = await live.run("go", turns=0)
        assert [told(event) for event in events if event.content and event.content.parts[0].text] == [
            "one: first",
            "two: second",
        ]
        for agent in agents:
            assert agent.tools == []
            assert agent.instruction == ""
            made = agent.model.requests[0]  # type: ignore[union-attr]
            assert "task_completed" in str(made.config.system_instruction)
            assert list(made.tools_dict) == ["task_completed"]

    asyncio.run(whole())


def test_the_next_run_goes_on_with_who_spoke_last() -> None:
    async def whole() -> None:
        there = ScriptedLiveModel(
            [WaitFor("history"), "sub", TURN_COMPLETE], [WaitFor("content"), "still", TURN_COMPLETE]
        )
        sub = LlmAgent(name="sub", model=there)
        model = ScriptedLiveModel([WaitFor("content"), transfer("sub", "c1"), Pause(30)])
        live = Live(agent=LlmAgent(name="root", model=model, sub_agents=[sub]))
        await live.run("to sub")
        await live.run("more")
        assert [told(event) for event in live.events][-2:] == ["sub: still", "turn"]

    asyncio.run(whole())


def test_a_turn_counts_as_a_call_of_the_model() -> None:
    async def whole() -> None:
        live = Live([WaitFor("content"), "one", TURN_COMPLETE, "two", TURN_COMPLETE, "three", TURN_COMPLETE])
        with pytest.raises(LlmCallsLimitExceededError, match="llm calls limit of `2`"):
            await live.run("hi", turns=0, config=RunConfig(max_llm_calls=2))
        assert [told(event) for event in live.events] == ["root: one", "turn", "root: two", "turn"]

    asyncio.run(whole())


def test_an_order_that_nobody_declares_is_refused() -> None:
    with pytest.raises(CompositionError, match="live_inn"):
        compose(Distribution(name="mine", plugins=("live",), orders={"live_inn": ()}))


def test_connections_and_turns_are_operations() -> None:
    ended: list[tuple[str, str]] = []

    class Watch:
        name = "watch"

        @hookimpl
        def register_observers(self) -> list[Observer]:
            return [Observer(name="watch", notify=self.note)]

        def note(self, signal: Signal) -> None:
            if signal.phase != "start":
                parent = signal.operation.parent
                ended.append((signal.operation.kind, parent.kind if parent else ""))

    async def whole() -> None:
        first = [WaitFor("content"), handle("h"), "one", TURN_COMPLETE, LOST]
        live = Live(first, ["two", TURN_COMPLETE], plugins=[Watch()])
        await live.run("hi", turns=2)

    asyncio.run(whole())
    assert ended.count(("model", "agent")) == 2
    assert ended.count(("connection", "agent")) == 2
    assert ended[-2:] == [("agent", "invocation"), ("invocation", "")]
