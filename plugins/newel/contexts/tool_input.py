"""Tool inputs: what a tool call asks the user for, what it keeps meanwhile, and the answer when it runs again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from newel_kernel import Json


@dataclass(frozen=True, slots=True)
class ToolInput:
    """The user's answer to a call's request for input. An optional question may be declined: `value` is None then."""

    value: object


@dataclass(frozen=True, slots=True)
class InputRequest:
    """A call's request for input; `schema` is the JSON schema of an answer."""

    message: str | None
    schema: Json | None
    payload: object


@dataclass(slots=True)
class Asking:
    """What a call asks for while it runs: an input, if any, and what it keeps until the user has answered."""

    request: InputRequest | None = None
    kept: object = None


@dataclass(frozen=True, slots=True)
class Answered:
    """What a call that runs again has of the time before: the user's input, and what it has kept."""

    input: ToolInput | None = None
    kept: object = None


def input_request(message: str | None, response_schema: object, payload: object) -> InputRequest:
    """A call's request for input, with its schema and its payload as JSON."""
    return InputRequest(message, schema_of(response_schema), to_jsonable_python(payload))


def schema_of(schema: Any) -> Json | None:
    """The JSON schema of `schema`: one itself, a type, a pydantic class, or a `types.Schema`."""
    if schema is None or isinstance(schema, dict):
        return schema
    if isinstance(schema, type) or not hasattr(schema, "model_dump"):
        return TypeAdapter(schema).json_schema()
    dumped: Json = schema.model_dump(mode="json", exclude_none=True)
    return dumped


def as_json(value: object) -> object:
    """`value` as it is when it was stored and read; a ValueError if it is not JSON."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(f"what a tool call keeps must be JSON: {error}") from None
