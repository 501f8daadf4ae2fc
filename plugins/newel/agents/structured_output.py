"""Structured output: the text of a model as data that fits a schema."""

from __future__ import annotations

import inspect
import json
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, PydanticSchemaGenerationError, PydanticUndefinedAnnotation, TypeAdapter


def validated(schema: Any, text: str) -> object:
    """`text`, JSON that a model wrote, as plain data that fits `schema` (a pydantic class, a type, a schema dict)."""
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return schema.model_validate_json(text).model_dump(exclude_none=True)
    if isinstance(schema, dict) or hasattr(schema, "model_dump"):
        return json.loads(text)
    adapter: TypeAdapter[object] = TypeAdapter(schema)
    return adapter.dump_python(adapter.validate_json(text), exclude_none=True)


def schema_problem(schema: Any) -> str | None:
    """Why `schema` cannot validate anything, or None; a type that is not defined yet is not a problem."""
    if schema is None or isinstance(schema, dict) or hasattr(schema, "model_dump"):
        return None
    wrong = isinstance(schema, str) or inspect.isroutine(schema)
    if not wrong:
        with suppress(PydanticUndefinedAnnotation):
            try:
                TypeAdapter(schema)
            except PydanticSchemaGenerationError:
                wrong = True
    hint = "a pydantic class, a dataclass, a plain type or a JSON schema can"
    return f"{schema!r} cannot be made from JSON; {hint}" if wrong else None
