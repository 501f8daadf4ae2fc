"""Shapes: what a response of a live connection or an event of a live run holds, in a form that two providers share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from newel_kernel import Event, LlmResponse
from newel_types import Content, Part

#: The kind of a thing, and its value.
Shape: TypeAlias = tuple[str, object]

_MARKS = (
    "live_session_resumption_update",
    "go_away",
    "voice_activity",
    "tool_call_cancellation",
    "usage_metadata",
    "interrupted",
    "turn_complete",
)


def shapes(responses: Iterable[LlmResponse | Event]) -> list[Shape]:
    """The shapes of responses or events. Ids, counts of tokens and names of models are left out."""
    return [shape for response in responses for shape in _shapes(response)]


def without_broken_off(found: list[Shape]) -> list[Shape]:
    """The shapes without a last transcription that says of itself, by `…`, that a loss has broken it off."""
    kind, value = found[-1][:2] if found else ("", "")
    is_broken_off = str(kind).endswith("transcription") and str(value).endswith("…")
    return found[:-1] if is_broken_off else found


def _shapes(response: LlmResponse | Event) -> Iterator[Shape]:
    piece = "piece of " if response.partial else ""
    if response.error_code:
        yield "error", response.error_code
    if response.input_transcription is not None:
        yield f"{piece}input transcription", response.input_transcription.text
    if response.output_transcription is not None:
        yield f"{piece}output transcription", response.output_transcription.text
    content = response.content
    if content is not None:
        yield from _content(content, f"interrupted {piece}" if response.interrupted else piece)
    for name in _MARKS:
        if getattr(response, name, None) and not (name == "interrupted" and content is not None):
            yield name.replace("_", " "), True


def _content(content: Content, piece: str) -> Iterator[Shape]:
    calls = [(call.name, call.args) for part in content.parts or () if (call := part.function_call) is not None]
    results = [(one.name, one.response) for part in content.parts or () if (one := part.function_response) is not None]
    if calls:
        yield "calls", calls
    if results:
        yield "results", results
    for part in content.parts or ():
        yield from _part(part, piece)


def _part(part: Part, piece: str) -> Iterator[Shape]:
    if part.text is not None:
        yield f"{piece}{'thought' if part.thought else 'text'}", part.text
    elif part.inline_data is not None:
        yield "sound", part.inline_data.data
