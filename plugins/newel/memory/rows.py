"""Rows: an entry of a memory as a database has it, and back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from pydantic_core import PydanticSerializationError, from_json, to_json

from newel.memory.errors import MemoryStoreError
from newel.memory.memory_entry import MemoryEntry
from newel.memory.times import seconds, time_of
from newel_kernel import Event, Json, seam
from newel_types import Content

_FAILURES = (PydanticSerializationError, ValueError, TypeError, RecursionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is stored of an entry. `key` is its id, or its event's."""

    key: str
    is_event: bool
    author: str | None
    timestamp: str | None
    #: The timestamp in seconds, if it is one.
    at: float | None
    content: bytes
    metadata: str
    #: The text that it is found by.
    text: str


class Existing(Enum):
    """What happens to an entry that exists already."""

    KEPT = "kept"
    REPLACED = "replaced"
    #: As REPLACED, and the session's other entries are removed.
    WHOLE_SESSION = "whole session"


#: The columns that `remembered` reads.
COLUMNS = "e.number, e.session, e.key, e.is_event, e.author, e.timestamp, e.content, e.metadata, e.text"


def row_of_event(event: Event, metadata: Mapping[str, object] | None) -> Row | None:
    """The row of an event; None if it says nothing."""
    text = words_of(event.content)
    if event.content is None or not text:
        return None
    timestamp = time_of(event)
    at = event.timestamp if timestamp is not None else None
    return Row(
        key=event.id,
        is_event=True,
        author=event.author,
        timestamp=timestamp,
        at=at,
        content=_content(event.content, f"event {event.id}"),
        metadata=_json(dict(metadata or {}), f"event {event.id}"),
        text=text,
    )


def row_of_entry(entry: MemoryEntry, metadata: Mapping[str, object] | None) -> Row:
    """The row of an entry that was given."""
    key = entry.id or seam.new_id()
    return Row(
        key=key,
        is_event=False,
        author=entry.author,
        timestamp=entry.timestamp,
        at=seconds(entry.timestamp),
        content=_content(entry.content, f"entry {key}"),
        metadata=_json({**(metadata or {}), **entry.custom_metadata}, f"entry {key}"),
        text=words_of(entry.content),
    )


def remembered(values: tuple[object, ...], score: float, text: str) -> MemoryEntry:
    """The entry of a row's COLUMNS."""
    _, session, key, is_event, author, timestamp, content, metadata, _ = values
    assert isinstance(content, bytes)
    assert isinstance(metadata, str)
    return MemoryEntry.model_validate(
        {
            "content": Content.model_validate_json(content),
            "custom_metadata": from_json(metadata),
            "author": author,
            "timestamp": timestamp,
            "id": None if is_event else key,
            "event_id": key if is_event else None,
            "session_id": session or None,
            "score": score,
            "snippet": text,
        }
    )


def words_of(content: Content | None) -> str:
    """The text of a content, without thoughts."""
    parts = content.parts if content is not None else None
    return " ".join(part.text for part in parts or () if part.text and not part.thought)


def checked(names: Iterable[str | None]) -> None:
    """Raise MemoryStoreError if a name is not a text that can be stored."""
    for name in names:
        try:
            (name or "").encode()
        except UnicodeEncodeError as error:
            raise MemoryStoreError(f"{name!r} is not valid text; nothing was written") from error


def _content(content: Content, subject: str) -> bytes:
    try:
        return content.model_dump_json(exclude_none=True).encode()
    except _FAILURES as error:
        raise _refused(subject, error) from error


def _json(value: Json, subject: str) -> str:
    try:
        data = to_json(value)
        if not _finite(value):
            raise ValueError("NaN or an infinity")
        from_json(data)
    except _FAILURES as error:
        raise _refused(f"the metadata of {subject}", error) from error
    return data.decode()


def _finite(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(map(_finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def _refused(subject: str, error: Exception) -> MemoryStoreError:
    return MemoryStoreError(f"{subject} cannot be stored as JSON ({error}); nothing was written")
