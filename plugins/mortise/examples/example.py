"""Example: a user's message and the answer that it should get."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator

from mortise_kernel.types.content import Content
from mortise_kernel.types.hot import coerce


class Example(BaseModel):
    """One example: the user's `input`, and the `output` as one content or several (tool calls among them)."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    input: Content
    output: list[Content]

    @field_validator("input", mode="before")
    @classmethod
    def _input(cls, value: Any) -> Content:
        return coerce(Content, value)  # type: ignore[no-any-return]

    @field_validator("output", mode="before")
    @classmethod
    def _output(cls, value: Any) -> list[Content]:
        return [coerce(Content, item) for item in (value if isinstance(value, list) else [value])]
