"""Elicitations: a question of an agent as a form for the client's user, and the answer that the form brings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mcp_types import ElicitRequestFormParams, ElicitResult

from newel.models.json_schemas import json_schema
from newel.questions.descriptions import lines_of
from newel.questions.given_answers import response_of
from newel.questions.question import Kind, Question
from newel.questions.values import allows_null
from newel_kernel import Json

_APPROVE, _VALUE = "approve", "value"
#: Types that a form can ask for; it has no nested objects.
_PLAIN = frozenset(("string", "number", "integer", "boolean"))
#: What a form may say of a field.
_KEYWORDS = frozenset(
    (
        *("type", "title", "description", "enum", "enumNames", "oneOf", "minimum", "maximum", "minLength", "maxLength"),
        *("format", "default", "items", "minItems", "maxItems"),
    )
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
    schema = _without_null(json_schema(question.schema))
    if (fields := _fields(schema)) is not None:
        wanted = schema["properties"]
        required = [name for name in schema.get("required") or () if name in fields and wanted[name] == fields[name]]
        return _form(message, {name: _field(one) for name, one in fields.items()}, required)
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
        return response_of(question, None) if allows_null(question.schema) else None
    if question.options and content.get(_VALUE) not in question.options:
        raise ValueError(f"the answer is {content.get(_VALUE)!r}, not one of {question.options}")
    fields = None if question.options else _fields(_without_null(json_schema(question.schema)))
    return response_of(question, content if fields is not None else content.get(_VALUE))


def _form(message: str, properties: Json, required: list[str] | None = None) -> ElicitRequestFormParams:
    schema: Json = {"type": "object", "properties": properties}
    if required is None:
        required = list(properties)
    if required:
        schema["required"] = required
    return ElicitRequestFormParams(message=message, requested_schema=schema)


def _fields(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]] | None:
    """The fields of an object that a form can ask for one by one, without the null of those that may be left out."""
    properties = schema.get("properties")
    if schema.get("type") != "object" or not properties:
        return None
    fields = {name: _without_null(one) for name, one in properties.items() if isinstance(one, Mapping)}
    return fields if len(fields) == len(properties) and all(map(_is_plain, fields.values())) else None


def _without_null(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """`schema` for an answer that is given."""
    kinds, branches = schema.get("type"), schema.get("anyOf")
    if isinstance(kinds, list) and len(rest := [kind for kind in kinds if kind != "null"]) == 1:
        return {**schema, "type": rest[0]}
    if isinstance(branches, list) and len(rest := [one for one in branches if one != {"type": "null"}]) == 1:
        return {**{key: value for key, value in schema.items() if key not in ("anyOf", "default")}, **rest[0]}
    return schema


def _is_plain(schema: Mapping[str, Any]) -> bool:
    """Whether a field of a form can ask for it: a plain value, or several of a list."""
    items = schema.get("items")
    if schema.get("type") == "array" and isinstance(items, Mapping):
        return isinstance(items.get("enum"), list) or _is_titled(items.get("anyOf"))
    return schema.get("type") in _PLAIN and ("oneOf" not in schema or _is_titled(schema["oneOf"]))


def _is_titled(options: object) -> bool:
    """Whether these are options with titles."""
    return isinstance(options, list) and all(
        isinstance(one, Mapping) and {"const", "title"} <= one.keys() for one in options
    )


def _field(schema: Mapping[str, object]) -> Json:
    kept = {name: value for name, value in schema.items() if name in _KEYWORDS}
    if kept.get("format") not in _FORMATS:
        kept.pop("format", None)
    return kept
