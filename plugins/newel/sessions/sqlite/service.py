"""SqliteSessionService: sessions in one SQLite file, durable before `append_event` returns.

The event log is the journal; docs/decisions/0003-session-append.md says what an append promises.
"""

from __future__ import annotations

import asyncio
import os
import weakref
from typing import Self

from newel.sessions.event_log import EventLog, LiveLogs
from newel.sessions.sqlite.database import SqliteDatabase
from newel.sessions.sqlite.encoding import encode_event
from newel.sessions.sqlite.statements import (
    Append,
    Create,
    Delete,
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
from newel.sessions.views import apply_commit, catch_up, check_append, check_keys
from newel_kernel import (
    BaseSessionService,
    Event,
    GetSessionConfig,
    Json,
    ListSessionsResponse,
    Session,
    SessionNotFoundError,
    StaleSessionError,
    seam,
)

#: Reading this many events takes about a millisecond; more are read in a thread.
_FEW_EVENTS = 200


class SqliteSessionService(BaseSessionService):
    """Sessions in the file `db_path`: a path, ``sqlite:///relative``, ``sqlite:////absolute`` or ``:memory:``.

    The `live_sessions` used last keep their events in memory; opening one of them reads its row and state
    only, and the events that another process added. Several processes may use one file.
    """

    def __init__(self, db_path: str | os.PathLike[str], *, live_sessions: int = 256) -> None:
        self._database = SqliteDatabase(db_path)
        self._writer = SqliteWriter(self._database)
        self._logs = LiveLogs(live_sessions)
        # Also at exit and for whoever never calls close().
        self._finalizer = weakref.finalize(self, self._writer.close)

    async def create_session(
        self, *, app_name: str, user_id: str, state: Json | None = None, session_id: str | None = None
    ) -> Session:
        """A new session, durable."""
        own_id = session_id.strip() if session_id else ""
        key = Key(app_name, user_id, own_id or seam.new_session_id())
        subject = f"the state of session {key.id!r}"
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
        key = Key(app_name, user_id, session_id)
        with self._database.reading() as connection:
            row = read_row(connection, key)
            state = read_state(connection, key, row.number) if row is not None else {}
        if row is None:
            self._logs.forget(key)
            return None
        log = await self._synchronised(key, row)
        view = _view(key, row, state, log)
        view.cache = log.cache
        return view

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
        if event.partial:
            return event
        key = Key(session.app_name, session.user_id, session.id)
        log = self._logs.get(key)
        if log is None or session.version > len(log):  # read by another service, or listed: it may know more
            log = await self._loaded(key)
        check_append(session, event, version=len(log), lease=session.lease)
        stored = encode_event(event)
        actions = stored.event.touched_actions
        delta = actions.state_delta if actions is not None else None
        change = StateChange.of(delta, f"event {event.id} of {event.author!r}") if delta else None
        append = Append(key, log, session.lease, stored, change)
        try:
            await self._writer.commit(append, lambda sequence: apply_commit(session, log, sequence, event))
        except StaleSessionError:
            catch_up(session, await self._loaded(key))
            raise
        except SessionNotFoundError:
            self._logs.forget(key)
            raise
        return event

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
            raise SessionNotFoundError(f"the session {key.id!r} does not exist (any more); the event is not stored")
        return await self._synchronised(key, row)

    async def _synchronised(self, key: Key, row: Row) -> EventLog:
        """The log with at least the events that `row` counts."""
        log = self._logs.get(key)
        if log is None or log.number != row.number:
            log = EventLog((), row.number)
        missing = row.version - len(log)
        if missing > 0:
            if missing > _FEW_EVENTS:
                await asyncio.to_thread(self._read_tail, key, log)
            else:
                self._read_tail(key, log)
        return self._logs.keep(key, log)

    def _read_tail(self, key: Key, log: EventLog) -> None:
        first = len(log)
        with self._database.reading() as connection:
            rows = read_tail(connection, log.number, first)
        log.grow(first, decode_events(rows, key))


def _view(key: Key, row: Row, state: State, events: list[Event]) -> Session:
    view = Session(
        id=key.id, app_name=key.app_name, user_id=key.user_id, state=state, events=events,
        last_update_time=row.update_time,
    )  # fmt: skip
    view.version, view.lease = row.version, row.lease
    return view
