"""A transcript: events as lines for a person who tries an agent out."""

from __future__ import annotations

from newel.events.text import shortened
from newel_kernel import Event
from newel_types import Part

_MOST = 200


def print_event(event: Event, *, verbose: bool = False) -> None:
    """Print the texts of the event; with `verbose` its tool calls, results and data as well."""
    if event.partial:
        return
    if event.error_code:
        print(f"{event.author} ! {event.error_code}: {event.error_message or ''}")
    text = ""
    for part in (event.content.parts or ()) if event.content is not None else ():
        if part.text and not part.thought:
            text += part.text
            continue
        if verbose and (summary := _summary(part)):
            if text:
                print(f"{event.author} > {text}")
                text = ""
            print(f"{event.author} > [{summary}]")
    if text:
        print(f"{event.author} > {text}")


def _summary(part: Part) -> str:
    """A part that is not text, in a few words."""
    if part.function_call is not None:
        return f"calls {part.function_call.name}({shortened(part.function_call.args or {}, _MOST)})"
    if part.function_response is not None:
        return f"result of {part.function_response.name}: {shortened(part.function_response.response, _MOST)}"
    if part.executable_code is not None:
        return f"runs code: {shortened(part.executable_code.code, _MOST)}"
    if part.code_execution_result is not None:
        return f"code gave: {shortened(part.code_execution_result.output, _MOST)}"
    if part.inline_data is not None:
        return f"data: {part.inline_data.mime_type}, {len(part.inline_data.data or b'')} bytes"
    if part.file_data is not None:
        return f"file: {part.file_data.file_uri}"
    return ""
