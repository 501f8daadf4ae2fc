"""Structured output: the text of a model as data that fits a schema."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, TypeAdapter


def validated(schema: Any, text: str) -> object:
    """`text`, JSON that a model wrote, as plain data that fits `schema` (a pydantic class, a type, a schema dict)."""
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return schema.model_validate_json(text).model_dump(exclude_none=True)
    if isinstance(schema, dict) or hasattr(schema, "model_dump"):
        return json.loads(text)
    adapter: TypeAdapter[object] = TypeAdapter(schema)
    return adapter.dump_python(adapter.validate_json(text), exclude_none=True)
