"""Importer: copies the sessions of a google-adk database into a store, and continues where an earlier import ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import Any

from pydantic_core import from_json

from newel.sessions.stored.encoding import encode_value
from newel.sessions.stored.imports import ImportedEvent, ImportEvents, ImportSharedState
from newel.sessions.stored.rows import Changes, Key, StateChange
from newel.sessions.stored.service import StoredSessionService
from newel.sessions.views import check_keys, check_names
from newel_adk.sessions.calls import Calls
from newel_adk.sessions.layout import Choice, Layout, layout_of
from newel_adk.sessions.reading import Ready, RowReader, UnreadableError, seconds, state_of
from newel_adk.sessions.report import Report, RowNote
from newel_adk.sessions.sources import CHUNK, READERS, Reader, Source, opened
from newel_kernel import BaseSessionService, ConfigurationError, Json, SessionError

#: Events are committed once there are more bytes of them than this, or CHUNK events.
_MOST_BYTES = 4_000_000
_UNREAD = (UnreadableError, SessionError, ValueError)


async def import_sessions(
    url: str, open_store: Callable[[], BaseSessionService] | None, choice: Choice, *, zone: tzinfo = UTC
) -> Report:
    """Import the sessions of the database at `url` that `choice` selects. The store is opened once the layout is known.

    Without a store nothing is written, and the report says what the database has. Times without a zone, as in schema
    v0, are taken to be in `zone`. Raises ConfigurationError, before anything is written, if the database is not one
    of google-adk's or cannot be read, or if the store cannot take in sessions.
    """
    source = opened(url)
    try:
        layout = await layout_of(source)
        if open_store is None:
            return await Importer(source, layout, None, choice, zone=zone).run()
        store = open_store()
        try:
            if not isinstance(store, StoredSessionService):
                raise ConfigurationError(
                    f"{type(store).__name__} cannot take in sessions: name an SQLite file, or a database of "
                    f"PostgreSQL, MariaDB or MySQL"
                )
            return await Importer(source, layout, store, choice, zone=zone).run()
        finally:
            await store.close()
    finally:
        await source.close()


@dataclass(slots=True)
class _Writing:
    """How far the import of a session has come."""

    key: Key
    time: float
    change: StateChange | None
    #: How many of its events the store has, and how many were compared or written.
    stored: int
    at: int = 0
    batch: list[ImportedEvent] = field(default_factory=list)
    size: int = 0
    #: The ids of the store's events from `first` on.
    first: int = 0
    ids: Sequence[str] = ()


class _ConflictError(Exception):
    """The store has another session under this id, or one that continued differently."""


class Importer:
    """Copies the sessions that `choice` selects from `source` into `store`; without a store it only reads.

    A session is created with its state and its first events in one transaction, and continued in transactions of
    several hundred events. Run again, it recognises by their ids the events that the store already has.
    """

    def __init__(
        self,
        source: Source,
        layout: Layout,
        store: StoredSessionService | None,
        choice: Choice,
        *,
        zone: tzinfo = UTC,
    ) -> None:
        self._source = source
        self._layout = layout
        self._store = store
        self._choice = choice
        self._rows = RowReader(layout, zone)
        self._shared: dict[tuple[str, str | None], Changes] = {}
        self.report = Report(f"{source.label}: {layout.release}")

    async def run(self) -> Report:
        """Import everything. Raises the error that ends an import; the import can then be run again."""
        await self._read_shared()
        try:
            async with asyncio.TaskGroup() as group:
                room = asyncio.Semaphore(READERS)
                async for row in self._sessions():
                    await room.acquire()
                    group.create_task(self._session(row)).add_done_callback(lambda _: room.release())
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        await self._look_for_orphans()
        self.report.sort()
        return self.report

    # --- sessions --------------------------------------------------------------------------------------------------

    async def _sessions(self) -> AsyncIterator[Sequence[Any]]:
        values = self._choice.values()
        while True:
            query = self._layout.sessions(self._choice, after="a" in values)
            async with self._source.reader() as reader:
                page = [row async for rows in reader.rows(query, values) for row in rows]
            for row in page:
                yield row
            if not page:
                return
            values |= dict(zip("aui", page[-1][:3], strict=True))

    async def _session(self, row: Sequence[Any]) -> None:
        key = Key(*map(str, row[:3]))
        self.report.sessions += 1
        try:
            check_names(*key)
            "".join(key).encode()
        except (SessionError, UnicodeEncodeError) as error:
            self._unreadable("sessions", key, error)
            return
        version = (await self._store.stored_rows(key, 0, 0))[0] if self._store is not None else None
        change = self._change(key, row[3]) if version is None else None
        try:
            time = seconds(row[4], self._rows.zone)
        except _UNREAD:
            time = 0.0
        writing = _Writing(key, time, change, version or 0)
        try:
            await self._events(writing)
            self._count(writing, version)
        except _ConflictError:
            reason = (
                f"event {writing.at + 1} in the store differs: the session was continued there, or is a different one"
            )
            self.report.conflicts.append(RowNote.of("sessions", key, f"{reason}; nothing more was added to it"))

    def _count(self, writing: _Writing, version: int | None) -> None:
        if version is None:
            self.report.sessions_added += 1
        elif writing.at > version:
            self.report.sessions_continued += 1
        else:
            self.report.sessions_there += 1

    async def _events(self, writing: _Writing) -> None:
        async with self._source.reader() as reader:
            calls = await self._calls(reader, writing.key)
            async for item in self._ready(reader, writing.key, calls):
                if writing.at < writing.stored:
                    await self._compare(writing, item)
                    continue
                writing.batch.append(ImportedEvent(item.event.timestamp, item.data))
                writing.size += len(item.data)
                if len(writing.batch) == CHUNK or writing.size > _MOST_BYTES:
                    await self._write(writing)
        if writing.batch or writing.change is not None:
            await self._write(writing)

    async def _compare(self, writing: _Writing, item: Ready) -> None:
        assert self._store is not None
        if writing.at >= writing.first + len(writing.ids):
            _, rows = await self._store.stored_rows(writing.key, writing.at, CHUNK)
            writing.first, writing.ids = writing.at, [from_json(data).get("id") for _, data in rows]
        if writing.ids[writing.at - writing.first] != item.event.id:
            raise _ConflictError
        writing.at += 1
        self.report.events_there += 1

    async def _write(self, writing: _Writing) -> None:
        end = writing.at + len(writing.batch)
        if self._store is not None:
            write = ImportEvents(writing.key, writing.time, writing.at, writing.batch, writing.change)
            if await self._store.import_events(write) != end:
                raise _ConflictError
        self.report.events_added += len(writing.batch)
        writing.at, writing.batch, writing.size, writing.change = end, [], 0, None

    # --- events ----------------------------------------------------------------------------------------------------

    async def _calls(self, reader: Reader, key: Key) -> Calls:
        calls = Calls()
        async for rows in reader.rows(self._layout.events(with_calls=True), _values(key)):
            for row in rows:
                try:
                    calls.see(self._rows.read(row).event)
                except UnreadableError:
                    continue  # it is reported when it is read again
        calls.end()
        return calls

    async def _ready(self, reader: Reader, key: Key, calls: Calls) -> AsyncIterator[Ready]:
        async for rows in reader.rows(self._layout.events(), _values(key)):
            for row in rows:
                try:
                    item = self._rows.read(row)
                except UnreadableError as error:
                    self._unreadable("events", (*key, str(row[0])), error)
                    continue
                self.report.note_unknown(item.unknown)
                if item.event.id in calls.stray:
                    self._repaired(key, item, "it has results without a call, which are left out")
                paired = calls.paired(item)
                if paired is not None:
                    yield paired
                    if (errors := calls.errors(paired.event)) is not None:
                        self._repaired(key, item, "a call has no result: it got an error that says so")
                        yield errors

    def _repaired(self, key: Key, item: Ready, reason: str) -> None:
        self.report.repaired.append(RowNote.of("events", (*key, item.event.id), reason))

    def _unreadable(self, table: str, key: tuple[str, ...], reason: object) -> None:
        self.report.unreadable.append(RowNote.of(table, key, reason))

    async def _look_for_orphans(self) -> None:
        async with self._source.reader() as reader:
            async for rows in reader.rows(self._layout.orphans(self._choice), self._choice.values()):
                for row in rows:
                    self.report.orphans.append(RowNote.of("events", row, "there is no such session"))

    # --- state -----------------------------------------------------------------------------------------------------

    async def _read_shared(self) -> None:
        """Read the states of apps and users; write those that no session brings along."""
        for of_user in (False, True):
            query = self._layout.shared(of_user, self._choice)
            table = "user_states" if of_user else "app_states"
            async with self._source.reader() as reader:
                async for rows in reader.rows(query, self._named_of(of_user)):
                    for app, user, state, has_session in rows:
                        owner = (str(app), str(user)) if of_user else (str(app),)
                        changes = self._encoded(table, owner, state)
                        if has_session:
                            self._shared[str(app), str(user) if of_user else None] = changes
                        elif self._store is not None and self._choice.session is None:
                            change = StateChange({}, changes, {}) if of_user else StateChange(changes, {}, {})
                            await self._store.import_shared_state(
                                ImportSharedState(Key(str(app), str(user), ""), change)
                            )

    def _named_of(self, of_user: bool) -> Json:
        names = ("app", "user") if of_user else ("app",)
        return {name: value for name, value in self._choice.values().items() if name in names}

    def _change(self, key: Key, state: str | bytes | None) -> StateChange:
        """The state to write with the session: its own, and with the first session of an app or a user also theirs."""
        app = self._shared.pop((key.app_name, None), {})
        user = self._shared.pop((key.app_name, key.user_id), {})
        return StateChange(app, user, self._encoded("sessions", key, state))

    def _encoded(self, table: str, key: tuple[str, ...], state: str | bytes | None) -> Changes:
        """A state in its stored form; a value that cannot be stored is reported, and left out."""
        changes: dict[str, bytes | None] = {}
        try:
            values = state_of(state)
        except _UNREAD as error:
            self._unreadable(table, key, f"its state is left out: {error}")
            return changes
        for name, value in values.items():
            try:
                check_keys({name: value}, "its state")
                changes[name] = encode_value(value, "its state", f"state[{name!r}]")
            except _UNREAD as error:
                self._unreadable(table, key, error)
        return changes


def _values(key: Key) -> dict[str, object]:
    return {"app": key.app_name, "user": key.user_id, "session": key.id}
