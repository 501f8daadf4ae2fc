"""SqliteSessionService: sessions in one SQLite file, durable before `append_event` returns.

The event log is the journal; docs/decisions/0003-session-append.md says what an append promises.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import weakref
from functools import partial
from typing import Self

from newel.claims.errors import SessionBusyError
from newel.sessions.event_log import EventLog, LiveLogs
from newel.sessions.sqlite.database import SqliteDatabase
from newel.sessions.sqlite.encoding import encode_event
from newel.sessions.sqlite.leases import Lease, Leases, Prolong, Take, is_dead
from newel.sessions.sqlite.statements import (
    Append,
    Appended,
    Create,
    Delete,
    EventRows,
    Key,
    Row,
    State,
    StateChange,
    decode_events,
    read_all,
    read_row,
    read_selected,
    read_state,
    read_tail,
)
from newel.sessions.sqlite.writer import SqliteWriter
from newel.sessions.views import apply_commit, behind, catch_up, check_append, check_delta, check_keys
from newel_kernel import (
    BaseSessionService,
    Event,
    FencedError,
    GetSessionConfig,
    Json,
    ListSessionsResponse,
    Session,
    SessionNotFoundError,
    StaleSessionError,
    brief,
    seam,
)

#: Reading this many events takes about a millisecond; more are read in a thread.
_FEW_EVENTS = 200
_LONG = Session(id="")


class SqliteSessionService(BaseSessionService):
    """Sessions in the file `db_path`: a path, ``sqlite:///relative``, ``sqlite:////absolute`` or ``:memory:``.

    The `live_sessions` used last keep their events in memory; opening one of them reads its row and state
    only, and the events that another process added. Several processes may use one file.
    """

    def __init__(self, db_path: str | os.PathLike[str], *, live_sessions: int = 256) -> None:
        self._database = SqliteDatabase(db_path)
        self._leases = Leases()
        self._writer = SqliteWriter(self._database, self._leases)
        self._logs = LiveLogs(live_sessions)
        # Also at exit and for whoever never calls close().
        self._finalizer = weakref.finalize(self, self._writer.close)

    async def create_session(
        self, *, app_name: str, user_id: str, state: Json | None = None, session_id: str | None = None
    ) -> Session:
        """A new session, durable."""
        own_id = session_id.strip() if session_id else ""
        key = Key(app_name, user_id, own_id or seam.new_session_id())
        subject = f"the state of session {brief(key.id)!r}"
        check_keys(state or {}, subject)
        change = StateChange.initial(state or {}, subject)
        row, merged = await self._writer.commit(Create(key, seam.clock(), change))
        self._logs.keep(key, EventLog((), row.number))
        return _view(key, row, merged, [])

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """A copy of the session; its events are the log's, which are frozen."""
        key = Key(app_name, user_id, session_id)
        if config is not None and self._logs.get(key) is None:
            return self._selected(key, config)
        view = await self.open(app_name=app_name, user_id=user_id, session_id=session_id)
        if view is not None:
            view.events = list(view.events) if config is None else config.select(view.events)
            view.cache = None
        return view

    async def open(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """A view that shares the log of this process; only the state is its own."""
        if config is not None:
            return await self.get_session(app_name=app_name, user_id=user_id, session_id=session_id, config=config)
        return await self._view(Key(app_name, user_id, session_id))

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """The sessions by user, each user's in the order of creation, without events."""
        with self._database.reading() as connection:
            rows = read_all(connection, app_name, user_id)
        return ListSessionsResponse(sessions=[_view(key, row, state, []) for key, row, state in rows])

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete the session, durably; its ``app:`` and ``user:`` state stays."""
        key = Key(app_name, user_id, session_id)
        await self._writer.commit(Delete(key))
        self._logs.forget(key)

    async def append_event(self, session: Session, event: Event) -> Event:
        """Commit `event`, then apply it to `session`: a view of the log or a copy, also a stale one.

        Raises a SessionError that leaves `session`, `event` and the store as they were, with one exception:
        where another process was first, StaleSessionError comes with `session` brought up to date.
        """
        return event if event.partial else await self._append(session, event, out_of_band=False)

    async def _append(self, session: Session, event: Event, *, out_of_band: bool) -> Event:
        key = Key(session.app_name, session.user_id, session.id)
        check_delta(event)
        stored = encode_event(event)
        actions = stored.event.touched_actions
        delta = actions.state_delta if actions is not None else None
        change = StateChange.of(delta, f"event {event.id} of {event.author!r}") if delta else None
        while True:
            log = self._logs.get(key)
            if log is None or session.version > len(log):  # read by another service, or listed: it may know more
                log = await self._loaded(key)
            lease = self._leases.of(session)
            check_append(session, event, version=len(log), lease=session.lease)
            try:
                if session.version < log.foreign and not session.lease:
                    raise StaleSessionError(behind(key.id, len(log), session.version, event))
                append = Append(key, log, session, lease, stored, change, out_of_band)
                await self._writer.commit(append, partial(_applied, append, event))
            except StaleSessionError as error:
                seen = session.version
                log = await self._loaded(key)
                catch_up(session, log)
                if session.lease or seen >= log.foreign:
                    continue  # what came in was out of band, or the session is this view's: it goes behind
                error.event = event
                raise
            except SessionNotFoundError:
                self._logs.forget(key)
                raise
            return event

    def holder(self, session: Session) -> str | None:
        """Who else had the lease of the session when it was last opened; not a process that is known to be dead."""
        log = self._logs.get(Key(session.app_name, session.user_id, session.id))
        owner = log.holder if log is not None else None
        return None if owner is None or owner == self._leases.owner or is_dead(owner) else owner

    def hold(self, session: Session, seconds: float) -> None:
        """Take the lease with the next append through this view, and prolong it until `let_go`."""
        log = self._logs.get(Key(session.app_name, session.user_id, session.id))
        if log is not None:
            gone = log.holder if log.holder is not None and is_dead(log.holder) else None
            self._leases.add(Lease(session, log.number, self._leases.owner, gone, seconds, lasting=True))

    async def take(self, session: Session) -> None:
        """Take now what `hold` has asked for; SessionBusyError where somebody else has it."""
        lease = self._leases.of(session)
        if lease is None:
            return
        key = Key(session.app_name, session.user_id, session.id)
        epoch = await self._writer.commit(Take(key, lease.owner, lease.before, lease.seconds))
        if epoch is None:
            raise SessionBusyError.of(session.id, "which came first")
        session.lease, lease.taken = epoch, True

    def let_go(self, session: Session) -> None:
        """Give the lease back, without waiting for the file."""
        lease = self._leases.drop(session)
        if lease is not None and lease.taken:
            self._writer.send(Prolong(lease.number, session.lease, None))

    async def claim(self, *, app_name: str, user_id: str, session_id: str, owner: str, ttl: float) -> Session | None:
        """Take the session for `ttl` seconds: a view that holds the lease, or None where another owner has it."""
        key = Key(app_name, user_id, session_id)
        epoch = await self._writer.commit(Take(key, owner, None, ttl))
        view = await self._view(key) if epoch is not None else None
        if view is not None and epoch is not None:
            view.lease = epoch
            log = await self._loaded(key)
            self._leases.add(Lease(view, log.number, owner, None, ttl, lasting=False, taken=True))
        return view

    async def renew(self, session: Session, *, ttl: float) -> None:
        """Prolong the lease that the view holds; FencedError where somebody else has taken it."""
        lease = self._leases.of(session)
        if lease is None or not await self._writer.commit(Prolong(lease.number, session.lease, ttl)):
            raise FencedError(f"the lease of the session {brief(session.id)!r} is not this view's any more: stop")

    async def release(self, session: Session) -> None:
        """Give the lease back, so that the next claim need not wait."""
        if (lease := self._leases.drop(session)) is not None:
            await self._writer.commit(Prolong(lease.number, session.lease, None))

    async def append_out_of_band(self, *, app_name: str, user_id: str, session_id: str, event: Event) -> Event:
        """Append beside whoever runs the session: behind what is there, and without ending that run."""
        view = await self.open(app_name=app_name, user_id=user_id, session_id=session_id)
        if view is None:
            raise SessionNotFoundError(f"the session {brief(session_id)!r} does not exist; the event is not stored")
        while True:
            try:
                return await self._append(view, event, out_of_band=True)
            except StaleSessionError:
                continue

    async def tail(self, *, app_name: str, user_id: str, session_id: str, after: int) -> list[Event]:
        """The committed events behind the first `after`, in order."""
        view = await self.open(app_name=app_name, user_id=user_id, session_id=session_id)
        return view.events[after:] if view is not None else []

    async def close(self) -> None:
        """Commit what is on its way and close the file; the service cannot be used any more."""
        await asyncio.to_thread(self._finalizer)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _selected(self, key: Key, config: GetSessionConfig) -> Session | None:
        """A copy with the events that `config` asks for, read without the others."""
        with self._database.reading() as connection:
            row = read_row(connection, key)
            if row is None:
                return None
            state = read_state(connection, key, row.number)
            rows = read_selected(connection, row, config)
        return _view(key, row, state, decode_events(rows, key))

    async def _loaded(self, key: Key) -> EventLog:
        """The session's log, read from the file as far as it is not here."""
        with self._database.reading() as connection:
            row = read_row(connection, key)
        if row is None:
            self._logs.forget(key)
            session = repr(brief(key.id))
            raise SessionNotFoundError(f"the session {session} does not exist (any more); the event is not stored")
        if row.version - self._known(key, row) > _FEW_EVENTS:
            return await asyncio.to_thread(self._synchronised, key, row)
        return self._synchronised(key, row)

    async def _view(self, key: Key) -> Session | None:
        """A view of one state of the file: its row, its state and its events are of the same moment."""
        view = self._read(key, _FEW_EVENTS)
        if view is _LONG:
            view = await asyncio.to_thread(self._read, key, None)
        if view is None:
            self._logs.forget(key)
        return view

    def _read(self, key: Key, most: int | None) -> Session | None:
        """A view; _LONG where more than `most` events have to be read for it."""
        with self._database.reading() as connection:
            row = read_row(connection, key)
            if row is None:
                return None
            if most is not None and row.version - self._known(key, row) > most:
                return _LONG
            state = read_state(connection, key, row.number)
            log, rows = self._missing(connection, key, row)
        log = self._grown(key, row, log, rows)
        log.holder = row.holder
        view = _view(key, row, state, log)
        view.cache = log.cache
        return view

    def _synchronised(self, key: Key, row: Row) -> EventLog:
        """The log with at least the events that `row` counts."""
        with self._database.reading() as connection:
            log, rows = self._missing(connection, key, row)
        return self._grown(key, row, log, rows)

    def _known(self, key: Key, row: Row) -> int:
        log = self._logs.get(key)
        return len(log) if log is not None and log.number == row.number else 0

    def _missing(self, connection: sqlite3.Connection, key: Key, row: Row) -> tuple[EventLog, EventRows]:
        """The log, and the stored events that `row` counts and the log does not have."""
        log = self._logs.get(key)
        if log is None or log.number != row.number:
            log = EventLog((), row.number)
        first = len(log)
        return log, read_tail(connection, row.number, first, row.version) if row.version > first else ()

    def _grown(self, key: Key, row: Row, log: EventLog, rows: EventRows) -> EventLog:
        if rows:
            log.grow(rows[0][0], decode_events(rows, key))
            if log is self._logs.get(key) and row.in_band > rows[0][0]:  # another process has written behind it
                log.foreign = max(log.foreign, row.in_band)
        return self._logs.keep(key, log)


def _applied(append: Append, event: Event, appended: Appended) -> None:
    """What an append that was committed changes here."""
    if append.lease is not None and not append.lease.taken:
        append.view.lease, append.lease.taken = appended.lease, True
    apply_commit(append.view, append.log, appended.sequence, event, append.stored.event)


def _view(key: Key, row: Row, state: State, events: list[Event]) -> Session:
    view = Session(
        id=key.id, app_name=key.app_name, user_id=key.user_id, state=state, events=events,
        last_update_time=row.update_time,
    )  # fmt: skip
    view.version = row.version
    return view
