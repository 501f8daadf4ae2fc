"""Observation: signals in pairs, the parents, and nothing at all where nobody observes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, contextmanager
from typing import Any

import pytest
from pydantic import ValidationError

from newel.agents import LlmAgent
from newel.models import BaseLlm
from newel.plugins import BasePlugin
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel.tools import LongRunningFunctionTool
from newel_compose import compose
from newel_kernel import Observer, Operation, RunConfig, Signal, StreamingMode, hookimpl
from newel_kernel._internal import observation
from newel_types import FunctionCall


class Notes:
    """A plugin that keeps the signals."""

    def __init__(self, **fields: Any) -> None:
        self.signals: list[Signal] = []
        self.fields = fields
        self.name = fields.get("name", "notes")

    @hookimpl
    def register_observers(self) -> list[Observer]:
        return [Observer(**{"name": "notes", "notify": self.signals.append, **self.fields})]

    @property
    def told(self) -> list[str]:
        return [f"{one.phase} {one.operation.kind} {one.operation.name}" for one in self.signals]


def brew() -> str:
    """Brews tea."""
    return "a pot"


def make(*plugins: Any, steps: Any = None) -> Runner:
    agent = LlmAgent(name="waiter", model=ScriptedModel(steps or [FunctionCall(name="brew"), "tea"]), tools=[brew])
    return Runner(
        app_name="tearoom",
        agent=agent,
        plugins=plugins,
        session_service=InMemorySessionService(),
        auto_create_session=True,
        composition=compose("minimal"),
    )


async def turn(runner: Runner) -> list[Any]:
    return [event async for event in runner.run_async(user_id="ada", session_id="s1", new_message="tea")]


def operation(notes: Notes, **fields: Any) -> Operation:
    (observer,) = notes.register_observers()
    return Operation("node", "one", "s1", None, observers=(observer,), **fields)


def test_every_start_has_its_end() -> None:
    notes = Notes()
    events = asyncio.run(turn(make(notes)))
    assert notes.told == [
        "start invocation tearoom",
        "start agent waiter",
        "start model scripted",
        "stop model scripted",
        "start tool brew",
        "stop tool brew",
        "start model scripted",
        "stop model scripted",
        "stop agent waiter",
        "stop invocation tearoom",
    ]
    ends = {id(one.operation): one for one in notes.signals if one.phase != "start"}
    assert len(ends) == 5
    for one in ends.values():
        assert one.seconds > 0
        assert one.operation.session_id == "s1"
        parent = one.operation.parent
        assert parent is None or one.seconds <= ends[id(parent)].seconds
    assert notes.signals[0].operation.invocation_id is None
    assert {one.operation.invocation_id for one in notes.signals[1:-1]} == {events[0].invocation_id}
    assert len({one.operation.id for one in notes.signals}) == 5


def test_operations_hold_what_they_work_on() -> None:
    notes = Notes()
    runner = make(notes)
    events = asyncio.run(turn(runner))
    ends = {one.operation.kind: one for one in notes.signals if one.phase == "stop"}
    assert ends["invocation"].operation.subject is runner
    assert ends["invocation"].operation.input == "tea"
    assert ends["agent"].operation.subject is runner.agent
    assert ends["model"].operation.input.contents
    assert ends["model"].operation.subject is runner.agent.model  # type: ignore[attr-defined]
    assert ends["tool"].operation.subject.name == "brew"
    assert ends["tool"].operation.input.id == events[0].get_function_calls()[0].id
    assert ends["tool"].outcome.get_function_responses()[0].response == {"result": "a pot"}
    assert ends["agent"].outcome is events[-1]


def test_an_operation_s_name_is_that_of_the_tool_or_of_the_model_that_is_asked() -> None:
    notes = Notes()
    with pytest.raises(ValueError, match="Tool '' not found"):
        asyncio.run(turn(make(notes, steps=[FunctionCall()])))
    tool = next(one.operation for one in notes.signals if one.operation.kind == "tool")
    assert (tool.name, tool.subject) == ("", None)
    model = next(one.operation for one in notes.signals if one.operation.kind == "model")
    assert (model.name, model.input.model) == ("scripted", "scripted")

    class Choosing(BasePlugin):
        async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
            llm_request.model = "another"

    notes = Notes()
    asyncio.run(turn(make(notes, Choosing(name="choosing"), steps=["tea"])))
    assert "start model another" in notes.told


def test_the_operation_of_a_model_that_streams_ends_with_its_whole_answer() -> None:
    notes = Notes()

    async def run() -> list[str]:
        events = make(notes, steps=[["a ", "pot"]]).run_async(
            user_id="ada", session_id="s1", new_message="tea", run_config=RunConfig(streaming_mode=StreamingMode.SSE)
        )
        return [f"{bool(event.partial)} {'stop model scripted' in notes.told}" async for event in events]

    assert asyncio.run(run()) == ["True False", "True False", "False True"]
    end = next(one for one in notes.signals if one.phase == "stop" and one.operation.kind == "model")
    assert end.outcome.content.parts[0].text == "a pot"


def test_a_signal_shows_nobodys_words() -> None:
    notes = Notes()
    asyncio.run(turn(make(notes, steps=["a private answer"])))
    shown = repr(notes.signals)
    assert "private" not in shown
    assert "kind='agent', name='waiter'" in shown


def test_nobody_observes_unless_an_observer_wants_to(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("an operation was made")

    monkeypatch.setattr(Operation, "stream", refuse)
    assert asyncio.run(turn(make()))[-1].author == "waiter"
    notes = Notes(enabled=lambda: False)
    assert asyncio.run(turn(make(notes)))[-1].author == "waiter"
    assert notes.signals == []


def test_a_base_plugin_observes_too() -> None:
    class Watch(BasePlugin):
        seen = 0

        @hookimpl
        def register_observers(self) -> list[Observer]:
            return [Observer(name="watch", notify=self.note)]

        def note(self, signal: Signal) -> None:
            self.seen += 1

    watch = Watch(name="watch")
    asyncio.run(turn(make(watch)))
    assert watch.seen == 10


def fail_to_note(signal: Signal) -> None:
    raise LookupError("no ink")


def test_an_observer_that_fails_is_named_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    notes = Notes()
    observers = (Observer(name="broken", notify=fail_to_note), *notes.register_observers())
    one = Operation("node", "one", "s1", None, observers=observers)
    with one.running():
        pass
    assert notes.told == ["start node one", "stop node one"]
    messages = [record.getMessage() for record in caplog.records]
    assert messages == [f"the observer 'broken' failed at the {phase} of {one!r}" for phase in ("start", "stop")]


def test_the_observer_of_a_plugin_that_fails_is_told_once_with_its_place(caplog: pytest.LogCaptureFixture) -> None:
    notes = Notes()
    assert asyncio.run(turn(make(Notes(notify=fail_to_note, name="broken"), notes)))[-1].author == "waiter"
    assert len(notes.signals) == 10
    (record,) = caplog.records
    said = record.getMessage()
    assert said.startswith("newel: the observer 'broken' of the plugin 'broken' (given directly, ")
    assert "failed: LookupError: no ink (test_observation.py:" in said


@pytest.mark.parametrize("observed", [False, True])
def test_what_is_no_response_fails_the_same_way_where_somebody_observes(observed: bool) -> None:
    class Mumble(BaseLlm):
        model: str = "mumble"

        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            yield "not a response"

    runner = Runner(
        app_name="tearoom",
        agent=LlmAgent(name="waiter", model=Mumble()),
        plugins=[Notes()] if observed else [],
        session_service=InMemorySessionService(),
        auto_create_session=True,
        composition=compose("minimal"),
    )
    with pytest.raises(ValidationError):
        asyncio.run(turn(runner))


# --- one operation ----------------------------------------------------------------------------------------------------


async def count(to: int, closed: list[Any] | None = None) -> AsyncGenerator[Any, None]:
    try:
        for number in range(to):
            yield number, observation.current_operation.get()
    finally:
        if closed is not None:
            closed.append(observation.current_operation.get())


def test_a_stream_is_the_current_operation_in_its_steps_only() -> None:
    async def run() -> None:
        one = operation(Notes())
        closed: list[Any] = []
        seen = []
        async for number, inside in one.stream(count(2, closed)):
            assert inside is one
            assert observation.current_operation.get() is None
            seen.append(number)
        assert (seen, closed) == ([0, 1], [one])

    asyncio.run(run())


def test_what_begins_in_a_step_has_its_operation_for_a_parent() -> None:
    async def inner() -> Operation:
        return operation(Notes())

    async def run() -> None:
        one = operation(Notes())
        made = await one.call(inner)
        assert (made.parent, one.parent) == (one, None)
        task: list[Operation] = []

        async def spawn() -> None:
            task.append(await asyncio.create_task(inner()))

        await one.call(spawn)
        assert task[0].parent is one

    asyncio.run(run())


def test_a_stream_that_is_closed_early_stops_and_closes_what_it_streams() -> None:
    notes, closed = Notes(), []

    async def run() -> None:
        async with aclosing(operation(notes).stream(count(3, closed))) as items:
            async for _ in items:
                break
        assert len(closed) == 1

    asyncio.run(run())
    assert notes.told == ["start node one", "stop node one"]
    assert notes.signals[-1].error is None
    assert closed[0] is notes.signals[0].operation


def test_a_stream_ends_with_what_is_its_last_item_though_more_may_come() -> None:
    notes = Notes()

    async def run() -> None:
        async for number, inside in operation(notes).stream(count(3), lambda item: item[0] == 1):
            assert inside is not None
            assert notes.told == (["start node one"] if number == 0 else ["start node one", "stop node one"])

    asyncio.run(run())
    assert notes.signals[-1].outcome[0] == 1


def test_a_failure_is_an_exception_signal_and_goes_on() -> None:
    notes = Notes()

    async def fail() -> None:
        raise LookupError("no tea")

    with pytest.raises(LookupError):
        asyncio.run(operation(notes).call(fail))
    assert notes.told == ["start node one", "exception node one"]
    assert isinstance(notes.signals[-1].error, LookupError)


def test_a_call_that_is_cancelled_before_it_begins_leaves_nothing_behind() -> None:
    notes = Notes()

    async def never() -> None:
        raise AssertionError

    async def run() -> None:
        task = asyncio.create_task(operation(notes).call(never))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert notes.told == []


def test_within_stands_around_each_step() -> None:
    steps: list[str] = []

    @contextmanager
    def within(one: Operation) -> Any:
        steps.append(f"in {one.name}")
        yield
        steps.append("out")

    async def run() -> None:
        async for _ in operation(Notes(within=within)).stream(count(2)):
            steps.append("item")

    asyncio.run(run())
    assert steps == ["in one", "out", "item", "in one", "out", "item", "in one", "out"]


def test_the_merging_of_results_is_an_operation() -> None:
    def refill(amount: int) -> int:
        """Refills the pot."""
        return amount

    notes = Notes()
    calls = [FunctionCall(name="refill", args={"amount": n}) for n in (1, 2)]
    agent = LlmAgent(name="waiter", model=ScriptedModel([calls, "tea"]), tools=[refill])
    runner = Runner(
        app_name="tearoom",
        agent=agent,
        plugins=[notes],
        session_service=InMemorySessionService(),
        auto_create_session=True,
        composition=compose("minimal"),
    )
    events = asyncio.run(turn(runner))
    start, stop = (one for one in notes.signals if one.operation.kind == "merge")
    assert (start.phase, stop.phase, stop.operation.name) == ("start", "stop", "(merged)")
    results = [one.get_function_responses() for one in start.operation.input]
    assert [[one.response for one in of_call] for of_call in results] == [[{"result": 1}], [{"result": 2}]]
    assert [one.response for one in stop.outcome.get_function_responses()] == [{"result": 1}, {"result": 2}]
    assert start.operation.invocation_id == events[0].invocation_id
    parent = start.operation.parent
    assert parent is not None
    assert parent.kind == "agent"


def test_a_result_alone_is_not_merged() -> None:
    notes = Notes()
    calls = [FunctionCall(name="brew"), FunctionCall(name="later")]
    tools = [brew, LongRunningFunctionTool(lambda: None, name="later")]
    agent = LlmAgent(name="waiter", model=ScriptedModel([calls, "tea"]), tools=tools)
    runner = Runner(
        app_name="tearoom",
        agent=agent,
        plugins=[notes],
        session_service=InMemorySessionService(),
        auto_create_session=True,
        composition=compose("minimal"),
    )
    asyncio.run(turn(runner))
    assert [one for one in notes.told if one.startswith("stop tool")] == ["stop tool brew", "stop tool later"]
    assert "start merge (merged)" not in notes.told
