"""The statements of the SQLite session store, as functions over a connection. Ids are parameters, never SQL text."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

from newel.claims.errors import SessionBusyError
from newel.sessions.event_log import EventLog
from newel.sessions.pairing import check_pairing
from newel.sessions.scopes import merge_scopes, split_by_scope
from newel.sessions.sqlite.encoding import StoredEvent, decode_event, decode_value, encode_value
from newel.sessions.sqlite.leases import FREE, HOLDER, NOW, TAKE, Lease
from newel.sessions.sqlite.writer import Batch
from newel.sessions.views import behind, fenced
from newel_kernel import (
    AlreadyExistsError,
    Event,
    FencedError,
    GetSessionConfig,
    Json,
    Session,
    SessionError,
    SessionNotFoundError,
    StaleSessionError,
    brief,
)

T = TypeVar("T")
State: TypeAlias = Json
#: One scope's keys with their stored values.
Scope: TypeAlias = dict[str, bytes]
#: The changes of one scope: keys with their stored values, None for a key to remove.
Changes: TypeAlias = Mapping[str, bytes | None]
#: Sequence numbers with stored events.
EventRows: TypeAlias = Sequence[tuple[int, bytes]]


class Key(NamedTuple):
    """What names a session."""

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
    #: Who has the lease now.
    holder: str | None
    #: The version after the latest event that was not appended out of band.
    in_band: int


@dataclass(frozen=True, slots=True)
class StateChange:
    """What a delta does to the three scopes, in stored form."""

    app: Changes
    user: Changes
    session: Changes

    @classmethod
    def of(cls, delta: State, subject: str) -> StateChange:
        """The changes of `delta`; raises SessionError where a value cannot be stored."""
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


@dataclass(frozen=True, slots=True)
class Create:
    """Makes a session; the result is its row and state."""

    key: Key
    time: float
    change: StateChange

    def __call__(self, batch: Batch) -> tuple[Row, State]:
        connection = batch.connection
        insertion = connection.execute(
            "INSERT INTO sessions (app_name, user_id, id, create_time, update_time) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT DO NOTHING",
            (*self.key, self.time, self.time),
        )
        if not insertion.rowcount:
            raise AlreadyExistsError(f"Session with id {brief(self.key.id)} already exists.")
        number = insertion.lastrowid
        assert number is not None
        _change_state(connection, self.key, number, self.change)
        row = read_row(connection, self.key)
        assert row is not None
        return row, read_state(connection, self.key, number)


class Appended(NamedTuple):
    """An event's sequence number, and the epoch of the lease under which it was appended (0: under none)."""

    sequence: int
    lease: int


@dataclass(frozen=True, slots=True)
class Append:
    """Adds an event. The writer's log says which version the session must have, the view which lease it holds."""

    key: Key
    log: EventLog
    view: Session
    lease: Lease | None
    stored: StoredEvent
    change: StateChange | None
    #: Beside whoever runs the session: no view is stale for it.
    out_of_band: bool = False

    def __call__(self, batch: Batch) -> Appended:
        connection, log, event = batch.connection, self.log, self.stored.event
        earlier = batch.added(log)
        check_pairing([*log, *earlier] if earlier else log, event)
        version = len(log) + len(earlier)
        epoch = self._count(connection, version)
        if epoch is None:
            raise self._conflict(connection, version)
        connection.execute(
            "INSERT INTO events (session, sequence, timestamp, data) VALUES (?, ?, ?, ?)",
            (log.number, version, event.timestamp, self.stored.data),
        )
        if self.change is not None:
            _change_state(connection, self.key, log.number, self.change)
        batch.add(log, version, event)
        return Appended(version, epoch)

    def _count(self, connection: sqlite3.Connection, version: int) -> int | None:
        """Count the event, take or prolong the lease: the epoch of the view, or None where something is in the way."""
        lease, time = self.lease, self.stored.event.timestamp
        if lease is None:
            held = self.view.lease
            update = connection.execute(
                "UPDATE sessions SET version = version + 1, update_time = ?, in_band = iif(?, in_band, version + 1) "
                "WHERE number = ? AND version = ? AND lease = coalesce(?, lease)",
                (time, self.out_of_band, self.log.number, version, held or None),
            )
            return held if update.rowcount else None
        if lease.taken:
            update = connection.execute(
                f"UPDATE sessions SET version = version + 1, update_time = ?, in_band = version + 1, "  # noqa: S608
                f"lease_until = {NOW} + ? WHERE number = ? AND version = ? AND lease = ?",
                (time, lease.seconds, self.log.number, version, self.view.lease),
            )
            return self.view.lease if update.rowcount else None
        row = connection.execute(
            f"UPDATE sessions SET version = version + 1, update_time = ?, in_band = version + 1, {TAKE} "  # noqa: S608
            f"WHERE number = ? AND version = ? AND {FREE} RETURNING lease",
            (time, lease.owner, lease.seconds, self.log.number, version, lease.owner, lease.before),
        ).fetchone()
        return row[0] if row else None

    def _conflict(self, connection: sqlite3.Connection, version: int) -> SessionError:
        present = connection.execute(
            f"SELECT version, lease, {HOLDER} FROM sessions WHERE number = ?", (self.log.number,)  # noqa: S608
        ).fetchone()
        lost = f"event {self.stored.event.id} is not stored"
        if present is None:
            return SessionNotFoundError(f"the session {brief(self.key.id)!r} was deleted; {lost}")
        if self.view.lease and present[1] != self.view.lease:
            return FencedError(f"{fenced(self.key.id, self.view.lease, present[1])}; {lost}")
        lease = self.lease
        if lease is not None and not lease.taken and present[2] not in (None, lease.owner, lease.before):
            return SessionBusyError.of(self.key.id, present[2])
        return StaleSessionError(behind(self.key.id, present[0], version, self.stored.event))


@dataclass(frozen=True, slots=True)
class Delete:
    """Removes a session with its events and its own state; the scopes it shares stay."""

    key: Key

    def __call__(self, batch: Batch) -> None:
        row = read_row(batch.connection, self.key)
        if row is not None:
            batch.connection.execute("DELETE FROM events WHERE session = ?", (row.number,))
            batch.connection.execute("DELETE FROM session_state WHERE session = ?", (row.number,))
            batch.connection.execute("DELETE FROM sessions WHERE number = ?", (row.number,))


def _change_state(connection: sqlite3.Connection, key: Key, number: int, change: StateChange) -> None:
    app, user, session = (key.app_name,), (key.app_name, key.user_id), (number,)
    _change(connection, "app_state", "app_name", app, change.app)
    _change(connection, "user_state", "app_name, user_id", user, change.user)
    _change(connection, "session_state", "session", session, change.session)


def _change(
    connection: sqlite3.Connection, table: str, owner: str, owned_by: tuple[str | int, ...], changes: Changes
) -> None:
    # `table` and `owner` are the constants above.
    marks = ", ".join("?" * len(owned_by))
    for key, value in changes.items():
        if value is None:
            connection.execute(f"DELETE FROM {table} WHERE ({owner}, key) = ({marks}, ?)", (*owned_by, key))  # noqa: S608
        else:
            connection.execute(
                f"INSERT INTO {table} ({owner}, key, value) VALUES ({marks}, ?, ?) "  # noqa: S608
                f"ON CONFLICT DO UPDATE SET value = excluded.value",
                (*owned_by, key, value),
            )


_ROW = f"SELECT number, user_id, id, version, lease, coalesce(update_time, 0.0), {HOLDER}, in_band FROM sessions "  # noqa: S608


def read_row(connection: sqlite3.Connection, key: Key) -> Row | None:
    """The session's row, or None."""
    row = connection.execute(_ROW + "WHERE app_name = ? AND user_id = ? AND id = ?", key).fetchone()
    return Row(*row) if row else None


def read_state(connection: sqlite3.Connection, key: Key, number: int) -> State:
    """The session's state, its three scopes merged."""
    scopes: tuple[Scope, Scope, Scope] = ({}, {}, {})
    for scope, name, value in connection.execute(
        "SELECT 0, key, value FROM app_state WHERE app_name = ? "
        "UNION ALL SELECT 1, key, value FROM user_state WHERE app_name = ? AND user_id = ? "
        "UNION ALL SELECT 2, key, value FROM session_state WHERE session = ?",
        (key.app_name, key.app_name, key.user_id, number),
    ):
        scopes[scope][name] = value
    return _merged(key, *scopes)


def read_all(connection: sqlite3.Connection, app_name: str, user_id: str | None) -> list[tuple[Key, Row, State]]:
    """A user's sessions (every user's where None), by user and in the order of creation."""
    where = "WHERE app_name = ?" if user_id is None else "WHERE app_name = ? AND user_id = ?"
    values = (app_name,) if user_id is None else (app_name, user_id)
    app: Scope = dict(connection.execute("SELECT key, value FROM app_state WHERE app_name = ?", (app_name,)).fetchall())
    users: defaultdict[str, Scope] = defaultdict(dict)
    for user, key, value in connection.execute(f"SELECT user_id, key, value FROM user_state {where}", values):  # noqa: S608
        users[user][key] = value
    own: defaultdict[int, Scope] = defaultdict(dict)
    for number, key, value in connection.execute(
        f"SELECT session, key, value FROM session_state WHERE session IN (SELECT number FROM sessions {where})",  # noqa: S608
        values,
    ):
        own[number][key] = value
    rows = [Row(*row) for row in connection.execute(f"{_ROW} {where} ORDER BY user_id, number", values)]
    keys = [Key(app_name, row.user_id, row.id) for row in rows]
    return [(k, row, _merged(k, app, users[row.user_id], own[row.number])) for k, row in zip(keys, rows, strict=True)]


def _merged(key: Key, *scopes: Scope) -> State:
    # Decoded for each session, so that no two share a value.
    subject = f"of session {brief(key.id)!r}"
    app, user, own = (
        {name: _readable(decode_value, value, f"the state {name!r} {subject}") for name, value in scope.items()}
        for scope in scopes
    )
    return merge_scopes(app, user, own)


def read_tail(connection: sqlite3.Connection, number: int, first: int, version: int) -> EventRows:
    """The events with the sequence numbers from `first` on, below `version`."""
    return connection.execute(
        "SELECT sequence, data FROM events WHERE session = ? AND sequence >= ? AND sequence < ? ORDER BY sequence",
        (number, first, version),
    ).fetchall()


def read_selected(connection: sqlite3.Connection, row: Row, config: GetSessionConfig) -> EventRows:
    """The events that `config` asks for, as GetSessionConfig.select, without the others."""
    recent = row.version if config.num_recent_events is None else max(config.num_recent_events, 0)
    return connection.execute(
        "SELECT sequence, data FROM events WHERE session = ? AND sequence >= ? AND (? IS NULL OR timestamp >= ?) "
        "ORDER BY sequence",
        (row.number, row.version - recent, config.after_timestamp, config.after_timestamp),
    ).fetchall()


def decode_events(rows: EventRows, key: Key) -> list[Event]:
    """The events of `rows`; takes longer than reading them, so it is not done under the reader's lock."""
    return [_readable(decode_event, data, f"event {number} of session {brief(key.id)!r}") for number, data in rows]


def _readable(decode: Callable[[bytes], T], data: bytes, subject: str) -> T:
    try:
        return decode(data)
    except ValueError as error:
        raise SessionError(
            f"{subject} is damaged in the session store ({error}): restore a backup, or delete the session"
        ) from error
