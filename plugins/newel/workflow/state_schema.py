"""State schemas: the state keys that the nodes of a graph may write, and of what type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, cast

from pydantic import BaseModel, TypeAdapter, ValidationError

from newel.workflow._errors import StateSchemaError
from newel_kernel import Json, State

Schema: TypeAlias = type[BaseModel]
_SCOPES = (State.APP_PREFIX, State.USER_PREFIX, State.TEMP_PREFIX)


def declared(schema: Schema) -> list[str]:
    """The keys that a schema declares."""
    return sorted(schema.model_fields)


def check_write(key: str, value: object, schema: Schema) -> None:
    """Refuse a write that `schema` does not declare; the schema does not cover keys with a scope."""
    if key.startswith(_SCOPES):
        return
    field = schema.model_fields.get(key)
    if field is None:
        raise StateSchemaError(
            f"the state key {key!r} is not declared in the state schema {schema.__name__!r}, "
            f"which declares {declared(schema)}"
        )
    if value is None:  # removes the key
        return
    try:
        TypeAdapter(cast("type[object]", field.annotation)).validate_python(value)
    except ValidationError as error:
        raise StateSchemaError(
            f"the value of the state key {key!r} does not fit {field.annotation!r} of {schema.__name__!r}: {error}"
        ) from error


def check_delta(delta: Mapping[str, object], schema: Schema) -> None:
    """Refuse a delta with a write that `schema` does not declare."""
    for key, value in delta.items():
        check_write(key, value, schema)


class CheckedState(State):
    """A state that takes only what a schema declares."""

    __slots__ = ("_schema",)

    def __init__(self, value: Json, delta: Json, schema: Schema) -> None:
        super().__init__(value, delta)
        self._schema = schema

    def __setitem__(self, key: str, value: object) -> None:
        check_write(key, value, self._schema)
        super().__setitem__(key, value)
