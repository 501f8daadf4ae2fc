"""Questions as the log has them."""

from __future__ import annotations

from typing import Any

import pytest

from newel.questions.names import CONFIRMATION_CALL, CREDENTIAL_CALL, INPUT_CALL
from newel.questions.question import Kind, Question, find_question, open_questions, questions_of
from newel.questions.requests import approval_request, input_request
from newel_kernel import Event, EventActions, Log, ToolConfirmation
from newel_types import Content, FunctionCall, FunctionResponse, Part

APPROVAL = {
    "originalFunctionCall": {"id": "c1", "name": "pay", "args": {"sum": 5}},
    "toolConfirmation": {"hint": "really?", "payload": {"to": "ada"}},
}


def asks(call_id: str, name: str, args: dict[str, Any], invocation: str = "e-1", **where: Any) -> Event:
    call = FunctionCall(id=call_id, name=name, args=args)
    content = Content(role="user", parts=[Part(function_call=call)])
    return Event(invocation, "root", content=content, long_running_tool_ids={call_id}, **where)


def answers(call_id: str, invocation: str = "e-1") -> Event:
    response = FunctionResponse(id=call_id, name="any", response={})
    return Event(invocation, "user", content=Content(role="user", parts=[Part(function_response=response)]))


def the(event: Event) -> Question:
    (question,) = open_questions(Log([event]))
    return question


def test_an_approval() -> None:
    question = the(asks("q1", CONFIRMATION_CALL, APPROVAL, branch="root.child", isolation_scope="task"))
    assert (question.kind, question.id, question.author) == (Kind.APPROVAL, "q1", "root")
    assert (question.branch, question.scope, question.invocation_id) == ("root.child", "task", "e-1")
    assert (question.call_id, question.original["name"]) == ("c1", "pay")
    assert (question.hint, question.payload) == ("really?", {"to": "ada"})


@pytest.mark.parametrize("key", ["functionCallId", "function_call_id"])
def test_a_credential(key: str) -> None:
    question = the(asks("q1", CREDENTIAL_CALL, {key: "c1"}))
    assert (question.kind, question.call_id, question.hint, question.payload) == (Kind.CREDENTIAL, "c1", "", None)


def test_an_input() -> None:
    args = {"message": "How many?", "payload": [1], "response_schema": {"type": "integer"}}
    question = the(asks("q1", INPUT_CALL, args))
    assert (question.kind, question.hint, question.payload) == (Kind.INPUT, "How many?", [1])
    assert (question.schema, question.call_id, question.options) == ({"type": "integer"}, None, [])


def test_the_result_of_a_long_running_tool() -> None:
    question = the(asks("q1", "get_user_choice", {"options": ["tea", 1]}))
    assert (question.kind, question.options, question.schema) == (Kind.RESULT, ["tea", "1"], None)


def test_a_call_about_which_the_user_is_asked_is_not_listed_beside_the_question() -> None:
    events = [asks("c1", "pay", {}), asks("q1", CONFIRMATION_CALL, APPROVAL), asks("q2", INPUT_CALL, {})]
    assert [question.id for question in open_questions(Log(events))] == ["q1", "q2"]
    assert [question.id for question in open_questions(Log([*events, answers("q1")]))] == ["c1", "q2"]


def test_a_question_is_open_again_where_its_answer_was_rewound() -> None:
    rewind = Event("e-3", "user", actions=EventActions(rewind_before_invocation_id="e-2"))
    events = [asks("q1", INPUT_CALL, {}), answers("q1", "e-2"), rewind]
    assert [question.id for question in open_questions(Log(events[:2]))] == []
    assert [question.id for question in open_questions(Log(events))] == ["q1"]


def test_the_latest_question_of_an_id_is_found_answered_or_not() -> None:
    events = [asks("q1", INPUT_CALL, {"message": "first"}), answers("q1"), asks("q1", INPUT_CALL, {"message": "again"})]
    found = find_question(Log([*events, answers("q1")]), "q1")
    assert found is not None
    assert (found[0], found[1].hint) == (2, "again")
    assert find_question(Log(events), "q2") is None
    assert find_question(Log(events), None) is None


def test_only_the_runtime_marks_a_question() -> None:
    event = asks("q1", CONFIRMATION_CALL, APPROVAL)
    event.long_running_tool_ids = None
    assert find_question(Log([event]), "q1") is None
    assert open_questions(Log([event])) == []


def test_an_event_puts_the_questions_that_the_runtime_has_marked() -> None:
    event = asks("q1", INPUT_CALL, {"message": "How many?"})
    assert event.content is not None
    assert event.content.parts is not None
    event.content.parts.append(Part(function_call=FunctionCall(id="c2", name="pay", args={})))
    assert [question.id for question in questions_of(event)] == ["q1"]
    event.author = "user"
    assert questions_of(event) == []


@pytest.mark.parametrize("name", [CONFIRMATION_CALL, CREDENTIAL_CALL, INPUT_CALL])
def test_a_call_under_the_id_of_a_long_running_one_is_no_question(name: str) -> None:
    event = asks("q1", "book", {})
    assert event.content is not None
    assert event.content.parts is not None
    event.content.parts.append(Part(function_call=FunctionCall(id="q1", name=name, args=APPROVAL)))
    assert questions_of(event) == []
    earlier = asks("q1", "book", {"day": 1})
    found = find_question(Log([earlier, event]), "q1")
    assert found is not None
    assert (found[0], found[1].args) == (0, {"day": 1})


def question_of(call: FunctionCall) -> Question:
    return Question.of(Event("e-1", "root"), call)


@pytest.mark.parametrize("repeats", [False, True])
def test_a_request_for_approval_is_read_as_it_was_written(repeats: bool) -> None:
    call = FunctionCall(id="c1", name="pay", args={"sum": 5})
    confirmation = ToolConfirmation(hint="really?", payload={"to": "ada"})
    question = question_of(approval_request(call, confirmation, repeats=repeats))
    assert (question.kind, question.call_id, question.repeats) == (Kind.APPROVAL, "c1", repeats)
    assert question.original == {"id": "c1", "name": "pay", "args": {"sum": 5}}
    assert (question.hint, question.payload) == ("really?", {"to": "ada"})


def test_a_request_for_input_is_read_as_it_was_written() -> None:
    question = question_of(input_request("q1", "How many?", [1], {"type": "integer"}))
    assert (question.kind, question.id, question.hint) == (Kind.INPUT, "q1", "How many?")
    assert (question.payload, question.schema) == ([1], {"type": "integer"})


def test_a_question_gives_its_call_and_the_response_that_answers_it() -> None:
    question = the(asks("q1", "book", {"days": [1]}))
    call = question.call
    assert call == FunctionCall(id="q1", name="book", args={"days": [1]})
    assert call.args is not None
    call.args["days"].append(2)
    assert question.args == {"days": [1]}
    assert question.response({"ok": True}) == FunctionResponse(id="q1", name="book", response={"ok": True})


@pytest.mark.parametrize(("value", "fits"), [(0, True), (2.5, True), (-1, False), (4, False), ("9", False)])
def test_a_number_must_be_within_the_bounds_that_were_asked_for(value: object, fits: bool) -> None:
    args = {"message": "How many?", "response_schema": {"type": "number", "minimum": 0, "maximum": 3}}
    question = the(asks("q1", INPUT_CALL, args))
    assert question.accepts(question.response({"result": value})) is fits
