"""Stored session: a session as a document, and as the conversation that it was."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from newel.cli.terminal import say, show_json
from newel.cli.transcript import Dialogue
from newel.events.text import text_of
from newel.sessions.documents import document_of
from newel_kernel import ConfigurationError, Event, Json, Session

_WORDS = 60


def summary_of(session: Session) -> Json:
    """The entry of a session in a list."""
    return {
        "id": session.id,
        "app_name": session.app_name,
        "user_id": session.user_id,
        "last_update_time": session.last_update_time,
        "begins_with": first_words(session),
        "event_count": len(session.events),
    }


def write_document(session: Session, file: Path) -> None:
    """Write the document of a session into a file; a ConfigurationError if that fails."""
    try:
        with file.open("w", encoding="utf-8") as stream:
            show_json(document_of(session, first_words(session)), file=stream)
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be written: {error.strerror or error}; name another file") from None


def first_words(session: Session) -> str:
    """What the user said first, in at most 60 characters."""
    first = next((text for event in session.events if event.author == "user" and (text := text_of(event.content))), "")
    text = " ".join(first.split())
    return text if len(text) <= _WORDS else f"{text[: _WORDS - 1]}…"


def show_events(events: Sequence[Event], root: str) -> None:
    """Show a past conversation, including the user's words."""
    dialogue = Dialogue(root, past=True)
    for event in events:
        if event.author == "user" and (text := text_of(event.content)):
            say(f"you> {text}", bold=True)
        dialogue.show(event)


def last_exchanges(events: Sequence[Event], most: int) -> Sequence[Event]:
    """The events from the user's `most`-th last message on."""
    starts = [at for at, event in enumerate(events) if event.author == "user" and text_of(event.content)]
    return events[starts[-most] :] if len(starts) > most else events
