"""What follows calls of tools: questions, what the result chain adds, the results, a transfer, in this order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.testing import ScriptedModel
from newel_kernel import Context, Event, ResultProcessor, hookimpl


def note(words: str) -> Event:
    return Event(author="waiter", message=words)


class Around:
    """Two result processors: one adds an event before the results, the other after them."""

    name = "around"

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        self.seen: list[Any] = []

    @hookimpl
    def register_result_processors(self) -> list[ResultProcessor]:
        def adding(words: str) -> Any:
            async def run(ctx: Any, call_event: Event, results: Event) -> list[Event]:
                self.seen.append((words, call_event, results))
                return [note(words)]

            return run

        return [
            ResultProcessor(name="behind", run=adding("(after)"), after=("auth",), follows=True, **self.fields),
            ResultProcessor(name="ahead", run=adding("(before)"), after=("auth",), **self.fields),
        ]


def brew() -> str:
    """Brews tea."""
    return "a pot"


def ask(tool_context: Context) -> str:
    """Asks which tea."""
    tool_context.leave_open(note("which tea?"))
    return "nothing yet"


def wait(tool_context: Context) -> str:
    """Waits for an answer to an earlier question."""
    tool_context.leave_open()
    return "nothing yet"


def waiter(*steps: Any) -> LlmAgent:
    return LlmAgent(name="waiter", model=ScriptedModel(steps), tools=[brew, ask, wait])


def order(shown: Any, events: Iterable[Event]) -> list[Any]:
    return [entry[1] if len(entry) == 2 else entry[1:3] for entry in shown(events)]


def test_questions_come_before_the_results_and_what_the_chain_adds_around_them(
    talk: Any, call: Any, shown: Any
) -> None:
    around = Around()
    conversation = talk(waiter([call("brew"), call("ask"), call("wait")], "done"), plugins=[around])
    events = conversation.say("tea")
    assert order(shown, events) == [
        ("call", "brew"),
        ("call", "ask"),
        ("call", "wait"),
        "which tea?",
        "(before)",
        ("result", "brew"),
        "(after)",
    ]
    assert len(around.seen) == 2
    for words, calls, results in around.seen:
        assert (calls, results) == (events[0], events[3]), words


def test_a_question_without_results_is_all_that_follows(talk: Any, call: Any, shown: Any) -> None:
    around = Around()
    conversation = talk(waiter(call("ask"), "done"), plugins=[around])
    assert order(shown, conversation.say("tea")) == [("call", "ask"), "which tea?"]
    assert around.seen == []


@pytest.mark.parametrize("distribution", ["minimal", "adk"])
def test_a_transfer_is_the_last_thing_that_follows(talk: Any, call: Any, shown: Any, distribution: str) -> None:
    def hand_over(tool_context: Context) -> str:
        tool_context.actions.transfer_to_agent = "cook"
        return "gone"

    host = waiter(call("hand_over"))
    host = host.clone(
        update={"tools": [hand_over], "sub_agents": [LlmAgent(name="cook", model=ScriptedModel(["tea"]))]}
    )
    events = talk(host, distribution=distribution).say("tea")
    assert [*order(shown, events[:2]), *shown(events[2:])] == [
        ("call", "hand_over"),
        ("result", "hand_over"),
        ("cook", "tea"),
    ]


def test_questions_without_a_chain_come_before_the_results(talk: Any, call: Any, shown: Any) -> None:
    conversation = talk(waiter([call("brew"), call("ask")], "done"), distribution="minimal")
    assert order(shown, conversation.say("tea"))[2:] == ["which tea?", ("result", "brew"), "done"]


@pytest.mark.parametrize("applies", [True, False])
def test_a_result_processor_may_have_nothing_to_do_with_a_result(
    talk: Any, call: Any, shown: Any, applies: bool
) -> None:
    seen: list[Event] = []

    def applies_to(results: Event) -> bool:
        seen.append(results)
        return applies

    conversation = talk(waiter(call("brew"), "done"), plugins=[Around(applies_to=applies_to)])
    expected = ["(before)", ("result", "brew"), "(after)"] if applies else [("result", "brew"), "done"]
    events = conversation.say("tea")
    assert order(shown, events)[1:] == expected
    assert {one.id for one in seen} == {one.id for one in events if one.get_function_responses()}
