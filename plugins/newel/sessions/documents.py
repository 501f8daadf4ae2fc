"""Documents: a session as one JSON object, which another store can take in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json, to_json

from newel.sessions.call_pairs import CallPairs
from newel.sessions.stored.encoding import encode_event
from newel.sessions.stored.imports import ImportedEvent, ImportEvents
from newel.sessions.stored.rows import Key, StateChange
from newel.sessions.stored.service import StoredSessionService
from newel.sessions.views import check_delta, check_keys
from newel_kernel import ConfigurationError, Event, Json, Session, SessionError, brief


class _Document(BaseModel, defer_build=True):
    model_config = ConfigDict(extra="forbid", strict=True)

    id: str
    app_name: str
    user_id: str
    last_update_time: float
    begins_with: str = ""
    event_count: int
    state: Json
    events: list[Json]


@dataclass(frozen=True, slots=True)
class Document:
    """A session that `document_of` wrote, read back and checked."""

    key: Key
    time: float
    change: StateChange
    events: Sequence[ImportedEvent]
    ids: Sequence[str]


def document_of(session: Session, begins_with: str) -> Json:
    """The whole session; the events have the form in which stores keep them, so that nothing is lost."""
    events = [from_json(encode_event(event).data) for event in session.events]
    return {
        "id": session.id,
        "app_name": session.app_name,
        "user_id": session.user_id,
        "last_update_time": session.last_update_time,
        "begins_with": begins_with,
        "event_count": len(events),
        "state": dict(session.state),
        "events": events,
    }


def read_document(data: bytes) -> Document:
    """The session of a document, or of a session as the API answers it.

    Raises ConfigurationError if `data` is neither, or cannot be stored.
    """
    try:
        parsed = from_json(data)
    except ValueError as error:
        raise ConfigurationError(f"it is not JSON: {error}") from error
    try:
        document = _Document.model_validate(_as_document(parsed))
        events = [_event(number, fields) for number, fields in enumerate(document.events)]
        if len(events) != document.event_count:
            raise ConfigurationError(f"it has {len(events)} events, but its event_count is {document.event_count}")
        _check(document, events)
        change = StateChange.initial(document.state, "the state")
        imported = [ImportedEvent(event.timestamp, encode_event(event).data) for event in events]
    except ValidationError as error:
        raise ConfigurationError(f"it is not an exported session: {_first(error)}") from error
    except (ValueError, SessionError) as error:
        raise ConfigurationError(str(error)) from error
    return Document(
        Key(document.app_name, document.user_id, document.id),
        document.last_update_time,
        change,
        imported,
        [event.id for event in events],
    )


def _as_document(parsed: object) -> object:
    """A session as the API answers it (and google-adk's page saves it) in the form of a document."""
    if not isinstance(parsed, dict) or "appName" not in parsed or not isinstance(parsed.get("events"), list):
        return parsed
    return {
        "id": parsed.get("id"),
        "app_name": parsed["appName"],
        "user_id": parsed.get("userId"),
        "last_update_time": float(parsed.get("lastUpdateTime") or 0),
        "event_count": len(parsed["events"]),
        "state": parsed.get("state") or {},
        "events": parsed["events"],
    }


async def take_in(store: StoredSessionService, document: Document) -> bool:
    """Add the session with its events in one transaction; False if the store already has it.

    Keys of ``app:`` and ``user:`` state are written only if they do not exist. Raises SessionError if the store
    has a session of that id with other events.
    """
    key = document.key
    write = ImportEvents(key, document.time, 0, document.events, document.change)
    if (await store.stored_rows(key, 0, 0))[0] is None and await store.import_events(write) == len(document.events):
        return True
    stored = await store.tail(app_name=key.app_name, user_id=key.user_id, session_id=key.id, after=0)
    if [event.id for event in stored] != list(document.ids):
        raise SessionError(
            f"the store has a session {brief(key.id)!r} of {brief(key.user_id)!r} with other events, "
            f"which is unchanged: delete it, or fork it and delete it"
        )
    return False


def _event(number: int, fields: Json) -> Event:
    try:
        event = Event.model_validate_json(to_json(fields, inf_nan_mode="constants"))
    except ValidationError as error:
        raise ConfigurationError(f"event {number} cannot be read: {_first(error)}") from error
    if not fields.get("id") or "timestamp" not in fields:
        raise ConfigurationError(f"event {number} has no id or no timestamp")
    return event


def _check(document: _Document, events: Sequence[Event]) -> None:
    """Refuse what a store would refuse event by event."""
    if not document.id.strip() or document.id != document.id.strip():
        raise ConfigurationError(f"the id {brief(document.id)!r} is blank, or has spaces around it")
    check_keys(document.state, "the state")
    pairs, ids = CallPairs(), set[str]()
    for event in events:
        check_delta(event)
        if event.id in ids:
            raise ConfigurationError(f"there are two events with the id {brief(event.id)!r}")
        ids.add(event.id)
        pairs.see(event)
    if pairs.stray:
        id_, calls = next(iter(pairs.stray.items()))
        raise ConfigurationError(f"event {brief(id_)!r} has results without a call ({', '.join(sorted(calls))})")


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]
