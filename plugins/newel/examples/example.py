"""Example: a user's message and the answer that it should get."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, field_validator

from newel_types import Content, Part, coerce


class Example(BaseModel):
    """One example: the user's `input`, and the `output` as one content or several (tool calls among them).

    A text stands for a content with that text.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    input: Content
    output: list[Content]

    @field_validator("input", mode="before")
    @classmethod
    def _input(cls, value: object) -> Content:
        return _content(value, "user")

    @field_validator("output", mode="before")
    @classmethod
    def _output(cls, value: object) -> list[Content]:
        return [_content(item, "model") for item in (value if isinstance(value, list) else [value])]


def _content(value: object, role: str) -> Content:
    return Content(role=role, parts=[Part(text=value)]) if isinstance(value, str) else coerce(Content, value)
