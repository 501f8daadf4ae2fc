"""Instructions: the texts in what stands for instructions, in our classes and in google-genai's."""

from __future__ import annotations

from newel_types.content import Content, Part
from newel_types.records import coerce
from newel_types.tools import Tool


def texts_of(value: object) -> list[str]:
    """The texts of a text, a content, a part, or a list of such; TypeError for a part that holds something else."""
    if isinstance(value, str):
        return [value]
    if value.__class__ is list or isinstance(value, (list, tuple)):
        return [text for item in value for text in ((item,) if item.__class__ is str else texts_of(item))]
    if not hasattr(value, "model_dump"):
        raise TypeError(f"an instruction is a text, a Content or a Part, not a {type(value).__name__}")
    content: Content = coerce(Content, value)
    return [_text(part) for part in content.parts or ()]


def _text(part: Part) -> str:
    if part.text is None:
        raise TypeError("an instruction's parts are texts: put media and files into the contents of the request")
    return part.text


def own_tools(tools: list[object]) -> None:
    """Replace google-genai's tools in `tools`, in place, by ours."""
    for index, tool in enumerate(tools):
        if not isinstance(tool, Tool) and type(tool).__name__ == "Tool" and hasattr(tool, "function_declarations"):
            tools[index] = Tool.model_validate(tool.model_dump(exclude_none=True))  # type: ignore[attr-defined]
