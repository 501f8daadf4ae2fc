"""StoredSessionService: sessions in a database, durable before `append_event` returns.

The event log is the journal; docs/explanation/decisions/0003-session-append.md says what an append promises.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Self, TypeVar

from newel.sessions.contract import (
    Capabilities,
    OwnedSessions,
    SearchableSessions,
    SessionOwner,
    SessionPage,
    SharedSessionStore,
    WatchedSessions,
)
from newel.sessions.event_log import EventLog
from newel.sessions.forks import fork_length, state_at
from newel.sessions.pages import place_of, read_place
from newel.sessions.stored import clockwork
from newel.sessions.stored.changes import Changes
from newel.sessions.stored.database import Database
from newel.sessions.stored.encoding import encode_event
from newel.sessions.stored.imports import ImportEvents, ImportSharedState, StoredRows
from newel.sessions.stored.leases import Leases
from newel.sessions.stored.leasing import Leasing
from newel.sessions.stored.patience import OnePatience
from newel.sessions.stored.reader import SessionReader
from newel.sessions.stored.reads import Containing, Head, Listing, Owners
from newel.sessions.stored.rows import Appended, EventRows, Key, StateChange, view_of
from newel.sessions.stored.steps import Read, Write
from newel.sessions.stored.writes import Append, Create, Delete
from newel.sessions.views import (
    apply_commit,
    catch_up,
    check_after,
    check_append,
    check_delta,
    check_keys,
    check_names,
    check_new,
    stale,
)
from newel.sessions.watching import Watch
from newel_kernel import (
    Event,
    GetSessionConfig,
    Json,
    ListSessionsResponse,
    Session,
    SessionNotFoundError,
    StaleSessionError,
    brief,
    seam,
)
from newel_types import well_formed

T = TypeVar("T")


class StoredSessionService(Leasing, OwnedSessions, SearchableSessions, WatchedSessions, SharedSessionStore):
    """Sessions in a `database`; several processes may use one.

    The sessions used last keep their events in memory; opening one of them reads its row and state only, and the
    events that another process added. There are `live_sessions` of them; by default at least 256, and more as long as
    they are small.
    """

    capabilities = Capabilities(durable=True, shared=True)

    def __init__(self, database: Database, leases: Leases, *, live_sessions: int | None = None) -> None:
        self._database = database
        self._leases = leases
        self._reader = SessionReader(database, live_sessions)
        self._changes = Changes(database)

    def reach(self, through: Callable[[Database], Database]) -> None:
        """Reach the database through another one, such as a cache in front of it. Call it before the first use."""
        self._database = through(self._database)
        self._reader = SessionReader(self._database, self._reader.logs.most)
        self._changes = Changes(self._database)

    async def commit(self, write: Write[T]) -> T:
        """The result of a further change in the same database, such as of budgets, once it is durable."""
        with OnePatience():
            return await self._database.commit(write)

    async def read(self, question: Read[T]) -> T:
        """The answer to a further question."""
        with OnePatience():
            return await self._database.read(question)

    async def create_session(
        self, *, app_name: str, user_id: str, state: Json | None = None, session_id: str | None = None
    ) -> Session:
        """A new session, durable."""
        key = _new_key(app_name, user_id, session_id)
        subject = f"the state of session {brief(key.id)!r}"
        state = well_formed(state or {})
        check_keys(state, subject)
        create = Create(key, seam.clock(), StateChange.initial(state, subject))
        row, merged = await self._database.commit(create)
        self._reader.logs.keep(key, EventLog((), row.number))
        return view_of(key, row, merged, [])

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """A copy of the session; its events are the log's, which are frozen."""
        with OnePatience():
            return await self._copy(Key(app_name, user_id, session_id), config)

    async def _copy(self, key: Key, config: GetSessionConfig | None) -> Session | None:
        if config is not None and self._reader.logs.get(key) is None:
            return await self._reader.selected(key, config)
        view = await self._reader.view(key)
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
        with OnePatience():
            return await self._reader.view(Key(app_name, user_id, session_id))

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """The sessions by user, each user's in the order of creation, without events."""
        entries = await self._database.read(Listing(app_name, user_id))
        return ListSessionsResponse(sessions=[view_of(key, row, state, []) for key, row, state in entries])

    async def list_page(
        self, *, app_name: str, user_id: str | None = None, size: int = 100, after: str | None = None
    ) -> SessionPage:
        """At most `size` sessions, by user and in order of creation, after the page that gave `after`."""
        place = read_place(after, size)
        entries = await self._database.read(Listing(app_name, user_id, size + 1, place))
        sessions = [view_of(key, row, state, []) for key, row, state in entries[:size]]
        return SessionPage(
            sessions, place_of(sessions[-1].user_id, entries[size - 1][1].number) if entries[size:] else None
        )

    async def owners(self) -> list[SessionOwner]:
        """The users of all apps who have sessions."""
        return await self._database.read(Owners())

    async def containing(self, *, app_name: str, user_id: str, texts: Sequence[str]) -> list[str]:
        """The ids of the user's sessions in which each text occurs: see `SearchableSessions`."""
        return await self._database.read(Containing(app_name, user_id, texts))

    async def fork(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        new_session_id: str | None = None,
        events: int | None = None,
    ) -> Session:
        """A new session with the first `events` events of this one: see `SessionStore`."""
        with OnePatience():
            return await self._forked(Key(app_name, user_id, session_id), new_session_id, events)

    async def _forked(self, of: Key, new_session_id: str | None, events: int | None) -> Session:
        source = await self._reader.view(of)
        if source is None:
            raise SessionNotFoundError(f"the session {brief(of.id)!r} does not exist")
        count = fork_length(source, events)
        key = _new_key(of.app_name, of.user_id, new_session_id)
        change = StateChange.initial(state_at(source, count), f"the state of session {brief(key.id)!r}")
        log = await self._reader.loaded(of)
        await self._database.commit(Create(key, seam.clock(), change, log.number, count))
        copy = await self._copy(key, None)
        assert copy is not None
        return copy

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete the session, durably; its ``app:`` and ``user:`` state stays."""
        key = Key(app_name, user_id, session_id)
        await self._database.commit(Delete(key))
        self._reader.logs.forget(key)

    async def append_event(self, session: Session, event: Event) -> Event:
        """Commit `event`, then apply it to `session`: a view of the log or a copy, even a stale one.

        Raises a SessionError that leaves `session`, `event` and the store as they were, with one exception:
        if another process wrote first, StaleSessionError comes with `session` brought up to date.
        """
        if event.partial:
            return event
        with OnePatience():
            return await self._append(session, event)

    async def _append(
        self, session: Session, event: Event, *, out_of_band: bool = False, after: int | None = None
    ) -> Event:
        key = Key(session.app_name, session.user_id, session.id)
        check_delta(event)
        stored = encode_event(event)
        actions = stored.event.touched_actions
        delta = actions.state_delta if actions is not None else None
        change = StateChange.of(delta, f"event {event.id} of {event.author!r}") if delta else None
        while True:
            log = self._reader.logs.get(key)
            if log is None or session.version > len(log) or session.number not in (0, log.number):
                log = await self._reader.loaded(key)  # read by another service, or listed: it may know more
            lease = self._leases.of(session)
            if lease is not None:
                lease.check()
            check_append(session, event, log=log, lease=session.lease)
            if after is not None:
                check_new(log, event)
                check_after(key.id, len(log), after, event)
            try:
                if session.version < log.foreign and not session.lease:
                    raise StaleSessionError(stale(key.id, len(log), session.version, event))
                append = Append(key, log, session, lease, stored, change, out_of_band, after)
                start = clockwork.elapsed() if lease is not None else 0.0
                await self._database.commit(append, partial(self._applied, append, event, start))
            except StaleSessionError as error:
                seen = session.version
                log = await self._reader.loaded(key)
                catch_up(session, log)
                if session.lease or seen >= log.foreign:
                    continue  # what came in was out of band, or the session is this view's: the event goes after it
                check_new(log, event)  # an event whose acknowledgement was lost exists: it is not stale
                error.event = event
                raise
            except SessionNotFoundError:
                self._reader.logs.forget(key)
                raise
            return event

    async def append_out_of_band(
        self, *, app_name: str, user_id: str, session_id: str, event: Event, after: int | None = None
    ) -> Event:
        """Append during a run of the session: at the end of the log, and without ending that run."""
        with OnePatience():
            view = await self._reader.view(Key(app_name, user_id, session_id))
            if view is None:
                raise SessionNotFoundError(f"the session {brief(session_id)!r} does not exist; the event is not stored")
            while True:
                try:
                    return await self._append(view, event, out_of_band=True, after=after)
                except StaleSessionError:
                    if after is not None:
                        raise

    async def tail(self, *, app_name: str, user_id: str, session_id: str, after: int) -> list[Event]:
        """The committed events after the first `after`, in order."""
        try:
            with OnePatience():
                log = await self._reader.loaded(Key(app_name, user_id, session_id))
        except SessionNotFoundError:
            return []
        return log[after:]

    @asynccontextmanager
    async def watch(self, *, app_name: str, user_id: str, session_id: str) -> AsyncIterator[Watch]:
        """A watch over the session: see `WatchedSessions`. One that does not exist is only looked for."""
        number = await self._number(Key(app_name, user_id, session_id))
        if number is None:
            yield Watch()
        else:
            async with self._changes.watch(number) as watch:
                yield watch

    async def wake(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """End the waits of those who follow the session, in all processes."""
        if (number := await self._number(Key(app_name, user_id, session_id))) is not None:
            self._changes.happened(number, True)

    async def _number(self, key: Key) -> int | None:
        log = self._reader.logs.get(key)
        if log is None and (row := await self._database.read(Head(key))) is not None:
            return row.number
        return log.number if log is not None else None

    def _applied(self, append: Append, event: Event, start: float, appended: Appended) -> None:
        """Apply a committed append to its lease and its view, and tell those who follow the session."""
        if (lease := append.lease) is not None:
            self._leases.granted(lease, appended.lease, start)
        apply_commit(append.view, append.log, appended.sequence, event, append.stored.event)
        self._changes.happened(append.log.number, appended.followed)

    async def refresh(self, session: Session) -> None:
        """Bring a view up to date with what others, also in other processes, have appended to its session."""
        with OnePatience():
            catch_up(session, await self._reader.loaded(Key(session.app_name, session.user_id, session.id)))

    async def import_events(self, write: ImportEvents) -> int:
        """Add events from another store, many at once: see `ImportEvents`."""
        check_names(*write.key)
        return await self._database.commit(write)

    async def import_shared_state(self, write: ImportSharedState) -> None:
        """Add the keys of an app's and a user's state that do not exist yet."""
        check_names(*write.key)
        await self._database.commit(write)

    async def stored_rows(self, key: Key, first: int, most: int) -> tuple[int | None, EventRows]:
        """A session's version (None: no such session), and at most `most` of its stored events from `first` on."""
        return await self._database.read(StoredRows(key, first, most))

    async def vacuum(self) -> None:
        """Give back the space of deleted data. An SQLite file is rewritten: nothing deleted is left in it."""
        await self._database.vacuum()

    async def backup(self, target: str | os.PathLike[str]) -> None:
        """Copy an SQLite file, as it is at one moment and while others write, to `target`, which must not exist.

        Raises ConfigurationError if the store is a server's database, or the copy cannot be written; then nothing
        is left at `target`.
        """
        await self._database.backup(os.fspath(target))

    async def close(self) -> None:
        """Commit pending writes and close; the service cannot be used afterwards."""
        await self._changes.close()
        await self._database.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _new_key(app_name: str, user_id: str, session_id: str | None) -> Key:
    key = Key(app_name, user_id, (session_id or "").strip() or seam.new_session_id())
    check_names(*key)
    return key
