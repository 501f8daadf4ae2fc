"""A tool that asks the user for an input: the run pauses, and the call runs again with the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from newel import Waiting, run
from newel.agents import LlmAgent
from newel.apps import App, ResumabilityConfig
from newel.questions.descriptions import lines_of
from newel.questions.names import CONFIRMATION_CALL, INPUT_CALL
from newel.questions.question import Question
from newel.runners import InMemoryRunner
from newel.testing import Conversation, ScriptedModel
from newel.tools import FunctionTool, ToolContext
from newel.workflow import START, Workflow
from newel_kernel import ConfigurationError, Event
from newel_types import Content, FunctionCall, FunctionResponse, Part

SCHEMA = {
    "type": "object",
    "properties": {"guests": {"type": "integer"}, "terrace": {"type": "boolean", "default": False}},
    "required": ["guests"],
}


class Chat(Conversation):
    """A conversation with a clerk whose tool asks for guests, and then for a name."""

    def __init__(self, steps: Sequence[Any] = (), **tool: Any) -> None:
        self.booked: list[Any] = []
        self.asks = tool.pop("asks", 1)
        self.schema = tool.pop("schema", SCHEMA)
        self.scripted = ScriptedModel([*(steps or [book()]), "done"])
        agent = LlmAgent(name="clerk", model=self.scripted, tools=[FunctionTool(self.book, **tool)])
        super().__init__(agent, user_id="ada", session_id="s1")

    def book(self, day: str, tool_context: ToolContext) -> Any:
        """Book a table."""
        given = tool_context.tool_input
        answers = tool_context.kept or []
        if given is not None:
            answers = [*answers, given.value]
        if len(answers) < self.asks:
            tool_context.keep(answers)
            tool_context.request_input(
                f"Question {len(answers) + 1}", response_schema=self.schema, payload={"day": day}
            )
            return None
        self.booked.append((day, answers))
        return {"booked": day}

    def answer(self, response: Any, name: str = INPUT_CALL, id_: str | None = None) -> list[Event]:
        asked = [call for turn in self.turns for call in turn.calls if call.name == name][-1]
        given = FunctionResponse(id=id_ or asked.id, name=name, response=response)
        return self.say([Part(function_response=given)])

    @property
    def asked(self) -> list[FunctionCall]:
        return [call for turn in self.turns for call in turn.calls if call.name == INPUT_CALL]


def book(day: str = "Monday", **call: Any) -> FunctionCall:
    return FunctionCall(name="book", args={"day": day}, **call)


def results(events: Sequence[Event]) -> list[Any]:
    return [response.response for event in events for response in event.get_function_responses()]


def test_the_run_pauses_with_the_question_and_the_call_runs_again_with_the_answer() -> None:
    chat = Chat()
    call, request, result = chat.say("book")
    asked = request.get_function_calls()[0]
    assert request.long_running_tool_ids == {asked.id}
    assert asked.args is not None
    assert (asked.args["message"], asked.args["response_schema"]) == ("Question 1", SCHEMA)
    assert asked.args["payload"] == {"day": "Monday"}
    assert asked.args["originalFunctionCall"]["id"] == call.get_function_calls()[0].id
    assert "waits" in results([result])[0]["error"]
    assert result.is_final_response()
    assert len(chat.scripted.requests) == 1

    events = chat.answer({"result": {"guests": "4"}})
    assert chat.booked == [("Monday", [{"guests": 4, "terrace": False}])]
    assert results(events) == [{"booked": "Monday"}]
    assert events[-1].content.parts[0].text == "done"
    shown = [part for content in chat.scripted.requests[-1].contents for part in content.parts]
    assert all(INPUT_CALL not in (p.function_call.name if p.function_call else "") for p in shown)


def test_a_call_may_ask_one_question_after_the_other_and_keeps_what_it_knows() -> None:
    chat = Chat(asks=3)
    chat.say("book")
    for number in range(3):
        assert not chat.booked
        chat.answer({"result": {"guests": number}})
    assert [one["guests"] for one in chat.booked[0][1]] == [0, 1, 2]
    assert [one.args["message"] for one in chat.asked] == ["Question 1", "Question 2", "Question 3"]


def test_an_answer_that_does_not_fit_is_refused_and_the_question_stays_open() -> None:
    chat = Chat()
    chat.say("book")
    with pytest.raises(ConfigurationError, match="guests"):
        chat.answer({"result": {"guests": "many"}})
    assert not chat.booked
    chat.answer({"result": {"guests": 2}})
    assert len(chat.booked) == 1


def test_one_question_has_one_answer() -> None:
    chat = Chat()
    chat.say("book")
    chat.answer({"result": {"guests": 2}})
    late = chat.answer({"result": {"guests": 9}})
    assert len(chat.booked) == 1
    assert late[-1].error_code == "ANSWERED_BEFORE"


def test_an_optional_question_can_be_declined() -> None:
    chat = Chat(schema={"type": "string", "nullable": True})
    chat.say("book")
    chat.answer({"result": None})
    assert chat.booked == [("Monday", [None])]


def test_an_approval_holds_for_the_call_that_asks_for_an_input_with_the_arguments_that_were_approved() -> None:
    chat = Chat(require_confirmation=True)
    chat.say("book")
    chat.answer({"confirmed": True, "editedArgs": {"day": "Friday"}}, CONFIRMATION_CALL)
    assert not chat.booked
    chat.answer({"result": {"guests": 2}})
    assert chat.booked == [("Friday", [{"guests": 2, "terrace": False}])]
    assert [call.name for turn in chat.turns for call in turn.calls].count(CONFIRMATION_CALL) == 1


def test_the_question_is_of_the_call_and_no_other() -> None:
    """A model may use an id again: the second call of the id asks anew."""
    chat = Chat([book("Monday", id="c"), "one", book("Tuesday", id="c")])
    chat.say("book")
    chat.answer({"result": {"guests": 1}})
    chat.say("and again")
    assert chat.booked == [("Monday", [{"guests": 1, "terrace": False}])]
    chat.answer({"result": {"guests": 2}})
    assert [day for day, _ in chat.booked] == ["Monday", "Tuesday"]


def test_a_call_asks_one_thing_at_a_time() -> None:
    problems = []

    def both(tool_context: ToolContext) -> None:
        """Ask for two things."""
        tool_context.request_confirmation(hint="?")
        try:
            tool_context.request_input("?")
        except ValueError as error:
            problems.append(str(error))

    model = ScriptedModel([FunctionCall(name="both", args={}), "done"])
    Conversation(LlmAgent(name="clerk", model=model, tools=[both]), user_id="u", session_id="s").say("go")
    assert "one thing at a time" in problems[0]


def test_what_a_call_keeps_is_json() -> None:
    def keeps(tool_context: ToolContext) -> str:
        """Keep what cannot be stored."""
        with pytest.raises(ValueError, match="must be JSON"):
            tool_context.keep(object())
        return "kept"

    model = ScriptedModel([FunctionCall(name="keeps", args={}), "done"])
    events = Conversation(LlmAgent(name="clerk", model=model, tools=[keeps]), user_id="u", session_id="s").say("go")
    assert results(events) == [{"result": "kept"}]


async def _events(runner: InMemoryRunner, message: Content) -> list[Event]:
    return [e async for e in runner.run_async(user_id="u", session_id="s", new_message=message)]


@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.parametrize("effect", ["at_most_once", "idempotent"])
def test_another_process_takes_the_answer_and_a_crash_while_it_acts_does_nothing_twice(
    resumable: bool, effect: str
) -> None:
    ran: list[Any] = []
    crash = [True]

    async def book(tool_context: ToolContext) -> Any:
        """Book."""
        if tool_context.tool_input is None:
            return tool_context.request_input("How many?", response_schema=int)
        ran.append(tool_context.tool_input.value)
        if crash:
            crash.clear()
            await asyncio.Event().wait()
        return {"booked": tool_context.tool_input.value}

    def worker(*steps: Any, first: InMemoryRunner | None = None) -> InMemoryRunner:
        tool = FunctionTool(book)
        tool.effect = effect  # type: ignore[assignment]
        agent = LlmAgent(name="clerk", model=ScriptedModel([*steps, "done"]), tools=[tool])
        app = App(name="app", root_agent=agent, resumability_config=ResumabilityConfig(is_resumable=resumable))
        runner = InMemoryRunner(app=app)
        if first is not None:
            runner.session_service = first.session_service
        return runner

    async def main() -> None:
        first = worker(FunctionCall(name="book", args={}))
        await first.session_service.create_session(app_name="app", user_id="u", session_id="s")
        events = await _events(first, Content(role="user", parts=[Part(text="go")]))
        asked = next(c for e in events for c in e.get_function_calls() if c.name == INPUT_CALL)
        answer = FunctionResponse(id=asked.id, name=INPUT_CALL, response={"result": 4})
        message = Content(role="user", parts=[Part(function_response=answer)])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await _events(worker(first=first), message)
        assert ran == [4]
        again = await _events(worker(first=first), message)
        if effect == "idempotent":
            assert ran == [4, 4]
            assert {"booked": 4} in results(again)
        else:  # the user is asked before it is repeated
            assert ran == [4]
            assert CONFIRMATION_CALL in [c.name for e in again for c in e.get_function_calls()]

    asyncio.run(main())


def test_a_tool_of_an_agent_in_a_graph_asks_too() -> None:
    def ask(tool_context: ToolContext) -> Any:
        """Ask."""
        given = tool_context.tool_input
        return given.value if given is not None else tool_context.request_input("How many?", response_schema=int)

    clerk = LlmAgent(name="clerk", model=ScriptedModel([FunctionCall(name="ask", args={}), "noted"]), tools=[ask])
    chat = Conversation(Workflow(name="flow", edges=[(START, clerk)]), user_id="u", session_id="s")
    asked = next(call for event in chat.say("go") for call in event.get_function_calls() if call.name == INPUT_CALL)
    answer = FunctionResponse(id=asked.id, name=INPUT_CALL, response={"result": 3})
    events = chat.say([Part(function_response=answer)])
    assert results(events) == [{"result": 3}]
    assert "noted" in [part.text for event in events if event.content for part in event.content.parts]


def test_a_script_answers_a_waiting_run() -> None:
    def ask(tool_context: ToolContext) -> Any:
        """Ask."""
        given = tool_context.tool_input
        return given.value if given is not None else tool_context.request_input("How many?", response_schema=int)

    clerk = LlmAgent(name="clerk", model=ScriptedModel([FunctionCall(name="ask", args={}), "noted"]), tools=[ask])
    with pytest.raises(Waiting, match="How many") as waiting:
        run(clerk, "go")
    assert waiting.value.questions[0].original["name"] == "ask"
    assert waiting.value.answer(3) == "noted"


def test_what_a_call_keeps_is_not_shown_with_the_question() -> None:
    chat = Chat()
    chat.say("book")
    args = chat.asked[0].args
    assert args is not None
    assert args["kept"] == []
    event = next(event for turn in chat.turns for event in turn if chat.asked[0] in event.get_function_calls())
    shown = "\n".join(lines_of(Question.of(event, chat.asked[0])))
    assert "Question 1" in shown
    assert "Monday" in shown
    assert "kept" not in shown
