"""Elicitations: a question of an agent as a form for the client's user, and the answer that the form brings."""

from __future__ import annotations

import json
from collections.abc import Mapping

from mcp_types import ElicitRequestFormParams, ElicitResult

from newel.models.json_schemas import json_schema
from newel.questions.descriptions import lines_of
from newel.questions.given_answers import response_of
from newel.questions.question import Kind, Question
from newel_kernel import Json

_APPROVE, _VALUE = "approve", "value"
#: Types that a form can ask for; it has no nested objects.
_PLAIN = frozenset(("string", "number", "integer", "boolean"))
#: What a form may say of a field.
_KEYWORDS = frozenset(
    ("type", "title", "description", "enum", "minimum", "maximum", "minLength", "maxLength", "format", "default")
)
_FORMATS = frozenset(("email", "uri", "date", "date-time"))


def can_be_asked(question: Question) -> bool:
    """Whether a form can ask it. A secret never goes through a form, and the result of a job is not the user's."""
    return question.kind in (Kind.APPROVAL, Kind.INPUT) or bool(question.options)


def form(question: Question) -> ElicitRequestFormParams:
    """The form that asks `question`."""
    if question.kind is Kind.APPROVAL:
        text = "\n".join(lines_of(question))
        return _form(text, {_APPROVE: {"type": "boolean", "title": "Approve the call"}})
    if question.options:
        return _form(f"{question.author} asks you to choose", {_VALUE: {"type": "string", "enum": question.options}})
    message = question.hint or f"{question.author} asks for an input"
    schema = json_schema(question.schema)
    properties = schema.get("properties")
    if schema.get("type") == "object" and properties and all(map(_is_plain, properties.values())):
        required = [name for name in schema.get("required") or () if name in properties]
        return _form(message, {name: _field(one) for name, one in properties.items()}, required)
    if _is_plain(schema):
        return _form(message, {_VALUE: _field(schema)})
    text = f"JSON that fits {json.dumps(schema, ensure_ascii=False)}" if schema else "Your answer"
    return _form(message, {_VALUE: {"type": "string", "description": text}})


def answer(question: Question, result: ElicitResult) -> Json | None:
    """The response that the filled form stands for; None: the user gave no answer.

    Raises a ValueError if it does not fit the question. A form that was not accepted rejects a call.
    """
    accepted = result.action == "accept"
    content = dict(result.content or {})
    if question.kind is Kind.APPROVAL:
        return response_of(question, accepted and content.get(_APPROVE) is True)
    if not accepted:
        return response_of(question, None) if (question.schema or {}).get("nullable") else None
    if question.options and content.get(_VALUE) not in question.options:
        raise ValueError(f"the answer is {content.get(_VALUE)!r}, not one of {question.options}")
    is_whole = (question.schema or {}).get("type") == "object" and content.keys() != {_VALUE}
    return response_of(question, content if is_whole else content.get(_VALUE))


def _form(message: str, properties: Json, required: list[str] | None = None) -> ElicitRequestFormParams:
    schema: Json = {"type": "object", "properties": properties}
    if required is None:
        required = list(properties)
    if required:
        schema["required"] = required
    return ElicitRequestFormParams(message=message, requested_schema=schema)


def _is_plain(schema: object) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") in _PLAIN


def _field(schema: Mapping[str, object]) -> Json:
    kept = {name: value for name, value in schema.items() if name in _KEYWORDS}
    if kept.get("format") not in _FORMATS:
        kept.pop("format", None)
    return kept
