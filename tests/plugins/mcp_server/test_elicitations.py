"""Forms: for any question there is one that clients can show, and what it brings answers the question."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.server.elicitation import _validate_rendered_properties
from mcp_types import ElicitResult

from newel.mcp_server.elicitations import answer, can_be_asked, form
from newel.questions.question import Kind, Question

_NAMES = st.text("abcdefg_", min_size=1, max_size=6)
_PLAIN: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "minLength": 1, "title": "T"},
        {"type": "string", "enum": ["a", "b"]},
        {"type": "string", "format": "uuid"},
        {"type": "integer", "minimum": 0},
        {"type": "number", "description": "d"},
        {"type": "boolean"},
    ]
)
_NESTED: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "properties": {"deep": {"type": "object", "properties": {"x": {"type": "integer"}}}}},
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        {},
    ]
)


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": sorted(properties)[:1]}


_SCHEMAS = st.none() | _PLAIN | _NESTED | st.dictionaries(_NAMES, _PLAIN | _NESTED, max_size=4).map(_object)
_VALUES = {"string": "a", "integer": 3, "number": 2.5, "boolean": True}


def _input(schema: Any) -> Question:
    args = {"message": "How many?", "response_schema": schema}
    return Question(Kind.INPUT, "i", "adk_request_input", args, "clerk", None, None, "inv", "e")


@given(_SCHEMAS)
def test_a_form_is_one_that_the_protocol_allows(schema: Any) -> None:
    shown = form(_input(schema))
    _validate_rendered_properties(shown.requested_schema)
    assert shown.message == "How many?"
    assert set(shown.requested_schema.get("required", ())) <= set(shown.requested_schema["properties"])


@given(_PLAIN | st.dictionaries(_NAMES, _PLAIN, min_size=1, max_size=4).map(_object))
def test_what_fills_the_form_answers_the_question(schema: Any) -> None:
    question = _input(schema)
    properties = form(question).requested_schema["properties"]
    filled = {name: _VALUES[one["type"]] for name, one in properties.items()}
    response = answer(question, ElicitResult(action="accept", content=filled))
    assert response is not None
    assert question.accepts(question.response(response))
    assert response["result"] == (filled if schema["type"] == "object" else filled["value"])


def test_json_answers_what_a_form_cannot_show() -> None:
    question = _input({"type": "array", "items": {"type": "integer"}})
    result = ElicitResult(action="accept", content={"value": "[1, 2]"})
    response = answer(question, result)
    assert response is not None
    assert question.accepts(question.response(response))
    with pytest.raises(ValueError, match="does not fit"):
        answer(question, ElicitResult(action="accept", content={"value": "one"}))


def test_secrets_and_jobs_are_not_asked_by_a_form() -> None:
    for kind in (Kind.CREDENTIAL, Kind.RESULT):
        assert not can_be_asked(Question(kind, "i", "n", {}, "clerk", None, None, "inv", "e"))


_TITLED = [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]
_CHOICES = {
    "one": {"type": "string", "enum": ["a", "b"]},
    "titled": {"type": "string", "oneOf": _TITLED},
    "old": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
    "several": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
    "several_titled": {"type": "array", "items": {"anyOf": _TITLED}, "maxItems": 2},
}


def test_all_kinds_of_choices_are_fields_of_a_form() -> None:
    question = _input({"type": "object", "properties": _CHOICES, "nullable": True})
    shown = form(question)
    _validate_rendered_properties(shown.requested_schema)
    assert shown.requested_schema["properties"] == _CHOICES
    content = {"one": "a", "titled": "b", "old": "a", "several": ["a", "b"], "several_titled": ["b"]}
    assert answer(question, ElicitResult(action="accept", content=content)) == {"result": content}  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="fits none"):
        answer(question, ElicitResult(action="accept", content={**content, "titled": "c"}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"x": {"type": "string"}}, "nullable": True},
        {"type": ["object", "null"], "properties": {"x": {"type": "string"}}},
        {"anyOf": [{"type": "object", "properties": {"x": {"type": "string"}}}, {"type": "null"}]},
    ],
)
def test_a_question_that_may_be_left_open_is_declined_with_null(schema: Any) -> None:
    question = _input(schema)
    assert form(question).requested_schema["properties"] == {"x": {"type": "string"}}
    assert answer(question, ElicitResult(action="accept", content={"x": "y"})) == {"result": {"x": "y"}}
    assert answer(question, ElicitResult(action="decline")) == {"result": None}


def test_a_field_that_may_be_null_may_be_left_out_of_the_form() -> None:
    schema = {
        "type": "object",
        "properties": {"x": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
        "required": ["x"],
    }
    assert form(_input(schema)).requested_schema == {"type": "object", "properties": {"x": {"type": "string"}}}
