"""Debug output: an event as lines for a person who tries an agent out."""

from __future__ import annotations

from newel_kernel import Event
from newel_types import Part

_MOST = 200


def print_event(event: Event, *, verbose: bool = False) -> None:
    """Print what the event says; with `verbose` its tool calls, results and data as well."""
    if event.partial:
        return
    if event.error_code:
        print(f"{event.author} ! {event.error_code}: {event.error_message or ''}")
    text = ""
    for part in (event.content.parts or ()) if event.content is not None else ():
        if part.text and not part.thought:
            text += part.text
            continue
        if verbose and (told := _told(part)):
            if text:
                print(f"{event.author} > {text}")
                text = ""
            print(f"{event.author} > [{told}]")
    if text:
        print(f"{event.author} > {text}")


def _told(part: Part) -> str:
    """What is in a part that is no text, in a few words."""
    if part.function_call is not None:
        return f"calls {part.function_call.name}({_short(part.function_call.args or {})})"
    if part.function_response is not None:
        return f"result of {part.function_response.name}: {_short(part.function_response.response)}"
    if part.executable_code is not None:
        return f"runs code: {_short(part.executable_code.code)}"
    if part.code_execution_result is not None:
        return f"code gave: {_short(part.code_execution_result.output)}"
    if part.inline_data is not None:
        return f"data: {part.inline_data.mime_type}, {len(part.inline_data.data or b'')} bytes"
    if part.file_data is not None:
        return f"file: {part.file_data.file_uri}"
    return ""


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _MOST else f"{text[:_MOST]}…"
