"""SessionReader: the sessions of a database as this process knows them, each with one log that its views share."""

from __future__ import annotations

import asyncio
from functools import partial

from newel.sessions.event_log import EventLog, LiveLogs
from newel.sessions.stored.database import Database
from newel.sessions.stored.reads import Head, Tail, View
from newel.sessions.stored.rows import Key, Row, decode_events, missing, view_of
from newel.sessions.views import catch_up
from newel_kernel import Event, GetSessionConfig, Session, SessionError, SessionNotFoundError, brief


class SessionReader:
    """Views of sessions; the logs of those used last stay in memory: `live_sessions`, or None: by their size."""

    def __init__(self, database: Database, live_sessions: int | None) -> None:
        self._database = database
        self.logs = LiveLogs(live_sessions)

    async def view(self, key: Key) -> Session | None:
        """A live view; its state and its events are those of the moment of the call, or later."""
        result = await self._database.read(View(key))
        if result is None:
            self.logs.forget(key)
            return None
        row, state = result
        log = await self._grown(key, row)
        log.owner, log.seconds_left = row.owner, row.lease_seconds
        view = view_of(key, row, state, log)
        view.cache = log.cache
        if row.version:  # exact: the column may hold microseconds only
            view.last_update_time = log[row.version - 1].timestamp
        catch_up(view, log)  # what came in while the events were read
        return view

    async def loaded(self, key: Key) -> EventLog:
        """The session's log; events that this process lacks are read first."""
        row = await self._database.read(Head(key))
        if row is None:
            self.logs.forget(key)
            raise SessionNotFoundError(
                f"the session {brief(key.id)!r} does not exist (any more); the event is not stored"
            )
        return await self._grown(key, row)

    async def selected(self, key: Key, config: GetSessionConfig) -> Session | None:
        """A copy with the events that `config` asks for, read without the others."""
        result = await self._database.read(View(key))
        if result is None:
            return None
        row, state = result
        recent = row.version if config.num_recent_events is None else max(config.num_recent_events, 0)
        first = max(row.version - recent, 0)
        events = await self._events(key, Tail(row.number, first, row.version, config.after_timestamp))
        return view_of(key, row, state, GetSessionConfig(after_timestamp=config.after_timestamp).select(events))

    async def _grown(self, key: Key, row: Row) -> EventLog:
        """The log with at least the events that `row` counts."""
        log = self.logs.get(key)
        if log is None or log.number != row.number:
            log = EventLog((), row.number)
        coming = log.coming  # before the length: what it has then was written before that
        first = len(log)
        if row.version > first:
            events = await self._events(key, Tail(row.number, first, row.version))
            log.grow(first, events)
            own = log.own(events, coming)
            if log is self.logs.get(key) and row.in_band > first + own:  # another process has written after it
                log.foreign = max(log.foreign, row.in_band)
        return self.logs.keep(key, log)

    async def _events(self, key: Key, tail: Tail) -> list[Event]:
        rows = await self._database.read(tail)
        if tail.since is None and len(rows) < tail.version - tail.first:
            raise await self._gap(key, tail, {number for number, _ in rows})
        if not tail.many:
            return decode_events(rows, key)
        return await asyncio.to_thread(partial(decode_events, rows, key))

    async def _gap(self, key: Key, tail: Tail, numbers: set[int]) -> SessionError:
        """The error for events that the session has counted and the store does not return."""
        row = await self._database.read(Head(key))
        if row is None or row.number != tail.number:
            self.logs.forget(key)
            return SessionNotFoundError(f"the session {brief(key.id)!r} was deleted while it was read")
        return missing(key, next(number for number in range(tail.first, tail.version) if number not in numbers))
