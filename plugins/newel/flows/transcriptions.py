"""Transcriptions: what was heard and said in a live run, as messages of the conversation."""

from __future__ import annotations

from collections.abc import Iterable

from newel_kernel import Event
from newel_types import Content, Part


def transcribed(events: Iterable[Event]) -> list[Event]:
    """The events with runs of transcriptions joined into messages: what was heard, and what was said."""
    result: list[Event] = []
    run: list[str] = []
    kind = ""
    latest: Event | None = None

    def flush() -> None:
        if run and latest is not None:
            role = "user" if kind == "input" else "model"
            content = Content(role=role, parts=[Part(text="".join(run))])
            result.append(latest.model_copy(update={"content": content}))
            run.clear()

    for event in events:
        input_text, output_text = event.input_transcription, event.output_transcription
        now = ""
        if event.content is None:
            now = "input" if input_text is not None else "output" if output_text is not None else ""
        if now != kind:
            flush()
            kind = now
        if not now:
            result.append(event)
            continue
        transcription = input_text if input_text is not None else output_text
        run.append(transcription.text or "" if transcription is not None else "")
        latest = event
    flush()
    return result
