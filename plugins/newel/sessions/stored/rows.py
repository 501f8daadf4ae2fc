"""Rows: what the tables of a durable store hold, and how views are made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

from newel.sessions.scopes import merge_scopes, split_by_scope
from newel.sessions.stored.encoding import decode_event, decode_value, encode_value
from newel_kernel import Event, Json, Session, SessionError, brief

T = TypeVar("T")
State: TypeAlias = Json
#: The stored form of an event or a value: JSON, as the driver gives it.
Data: TypeAlias = str | bytes
#: One scope's keys with their stored values.
Scope: TypeAlias = dict[str, Data]
#: The changes of one scope: keys with their stored values, None for a key to remove.
Changes: TypeAlias = Mapping[str, bytes | None]
#: Sequence numbers with stored events.
EventRows: TypeAlias = Sequence[tuple[int, Data]]


class Key(NamedTuple):
    """The names that identify a session."""

    app_name: str
    user_id: str
    id: str


class Row(NamedTuple):
    """A row of `sessions`."""

    number: int
    user_id: str
    id: str
    version: int
    lease: int
    update_time: float
    #: The owner that has taken the lease and not given it back.
    owner: str | None
    #: How many seconds the lease has left, unless it is prolonged; 0 or less: it has run out.
    lease_seconds: float
    #: The version after the latest event that was not appended out of band.
    in_band: int


class Appended(NamedTuple):
    """An event's sequence number, and the epoch of the lease under which it was appended (0: under none)."""

    sequence: int
    lease: int
    #: Whether other processes are to be told.
    followed: bool = False


@dataclass(frozen=True, slots=True)
class StateChange:
    """What a delta does to the three scopes, in stored form."""

    app: Changes
    user: Changes
    session: Changes

    @property
    def shared(self) -> bool:
        """Whether it changes what sessions share."""
        return bool(self.app or self.user)

    def parts(self) -> tuple[StateChange, StateChange]:
        """What it does to the scopes that sessions share, and to the session's own."""
        return StateChange(self.app, self.user, {}), StateChange({}, {}, self.session)

    @classmethod
    def of(cls, delta: State, subject: str) -> StateChange:
        """The changes of `delta`; raises SessionError if a value cannot be stored."""
        app, user, own = split_by_scope(delta)
        return cls(_stored(app, subject, "app:"), _stored(user, subject, "user:"), _stored(own, subject, ""))

    @classmethod
    def initial(cls, state: State, subject: str) -> StateChange:
        """The changes of a new session's state. Only a delta removes: here None is a value of the session."""
        change = cls.of(state, subject)
        session = {key: b"null" if value is None else value for key, value in change.session.items()}
        return cls(change.app, change.user, session)


def _stored(delta: State, subject: str, prefix: str) -> Changes:
    changes: dict[str, bytes | None] = {}
    for key, value in delta.items():
        name = f"{prefix}{key}"
        if not name.isascii():
            encode_value(name, subject, f"the state key {name!r}")
        changes[key] = None if value is None else encode_value(value, subject, f"state[{name!r}]")
    return changes


def merged(key: Key, app: Scope, user: Scope, own: Scope) -> State:
    """The state of the three scopes, decoded again, so that no two sessions share a value."""
    subject = f"of session {brief(key.id)!r}"
    decoded = (
        {name: _readable(decode_value, value, f"the state {name!r} {subject}") for name, value in scope.items()}
        for scope in (app, user, own)
    )
    return merge_scopes(*decoded)


def decode_events(rows: EventRows, key: Key) -> list[Event]:
    """The events of `rows`."""
    events: list[Event] = []
    number = 0
    try:
        for number, data in rows:  # noqa: B007 - the number of a damaged event
            events.append(decode_event(data))
    except ValueError as error:
        raise _damaged(f"event {number} of session {brief(key.id)!r}", error) from error
    return events


def missing(key: Key, number: int) -> SessionError:
    """The error for an event that the session has counted and the store does not have."""
    return SessionError(
        f"event {number} of session {brief(key.id)!r} is missing in the session store: restore a backup, or delete "
        f"the session"
    )


def _readable(decode: Callable[[Data], T], data: Data, subject: str) -> T:
    try:
        return decode(data)
    except ValueError as error:
        raise _damaged(subject, error) from error


def _damaged(subject: str, error: ValueError) -> SessionError:
    return SessionError(f"{subject} is damaged in the session store ({error}): restore a backup, or delete the session")


def view_of(key: Key, row: Row, state: State, events: list[Event]) -> Session:
    """A view of the session that has seen the events that `row` counts."""
    view = Session(
        id=key.id,
        app_name=key.app_name,
        user_id=key.user_id,
        state=state,
        events=events,
        last_update_time=row.update_time,
    )
    view.version, view.number = row.version, row.number
    return view
