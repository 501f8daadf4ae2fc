"""Imports: add the events of a session from another store, many in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from newel.sessions.stored.rows import EventRows, Key, StateChange
from newel.sessions.stored.state_changes import put_new
from newel.sessions.stored.statements import Statements
from newel.sessions.stored.steps import Batch, Query, Steps

#: How many events one statement adds; few shapes, so that drivers keep them prepared.
_AT_ONCE = (100, 10, 1)
#: A statement with more bytes may exceed what servers accept in one packet.
_MOST_BYTES = 1_000_000


class ImportedEvent(NamedTuple):
    """An event: its time, and its stored form."""

    time: float
    data: bytes


@dataclass(slots=True)
class ImportEvents:
    """Adds `events` after a session's first `version` events; with `change` (and `version` 0) it creates the session.

    The new session's own state is that of `change`; in the shared scopes only missing keys are written. The events'
    deltas change nothing. The result is the session's version afterwards: a different one if another writer came
    first, and then nothing is written.
    """

    key: Key
    time: float
    version: int
    events: Sequence[ImportedEvent]
    change: StateChange | None
    #: Whether an earlier attempt was made whose answer was lost.
    again: bool = False

    single: ClassVar[bool] = False

    @property
    def shared(self) -> bool:
        """See `Write`."""
        return self.change is not None and self.change.shared

    def steps(self, sql: Statements, batch: Batch) -> Steps[int]:
        """See `Write`."""
        names = tuple(map(sql.dialect.stored, self.key))
        again, self.again = self.again, True
        rows = (yield Query(sql.row, names)).rows
        end = self.version + len(self.events)
        if not rows:
            if self.change is None:
                return -1
            yield Query(sql.create, (*names, sql.dialect.time(self.time), 0))
            rows = (yield Query(sql.row, names)).rows
            yield from put_new(sql, self.key, rows[0][0], self.change)
        elif self.change is not None and not again:
            return int(rows[0][1])
        number = rows[0][0]
        if not self.events or (again and rows[0][1] == end):
            return int(rows[0][1])
        time = sql.dialect.time(self.events[-1].time)
        if not (yield Query(sql.advance, (number, self.version, time, end))).changed(sql.dialect.returning):
            return int(rows[0][1])
        yield from self._add(sql, number)
        return end

    def _add(self, sql: Statements, number: int) -> Steps[None]:
        text, first = sql.dialect.as_text, 0
        large = sum(len(event.data) for event in self.events) > _MOST_BYTES
        while first < len(self.events):
            count = 1 if large else next(n for n in _AT_ONCE if n <= len(self.events) - first)
            values: list[object] = [number]
            for place, event in enumerate(self.events[first : first + count], self.version + first):
                values += [place, sql.dialect.time(event.time), event.data.decode() if text else event.data]
            yield Query(sql.add_all(count), values)
            first += count


@dataclass(frozen=True, slots=True)
class StoredRows:
    """A session's version (None: there is no such session), and its events' data from the number `first` on."""

    key: Key
    first: int
    most: int
    many: ClassVar[bool] = False

    def steps(self, sql: Statements) -> Steps[tuple[int | None, EventRows]]:
        """See `Read`."""
        rows = (yield Query(sql.row, tuple(map(sql.dialect.stored, self.key)))).rows
        if not rows:
            return None, ()
        number, version = rows[0][:2]
        if not self.most or self.first >= version:
            return int(version), ()
        tail = (yield Query(sql.tail, (number, self.first, min(self.first + self.most, version)))).rows
        return int(version), tail  # type: ignore[return-value]  # two columns


@dataclass(frozen=True, slots=True)
class ImportSharedState:
    """Writes the keys of an app's and a user's state that do not exist yet."""

    key: Key
    change: StateChange
    single: ClassVar[bool] = False
    shared: ClassVar[bool] = True

    def steps(self, sql: Statements, batch: Batch) -> Steps[None]:
        """See `Write`."""
        yield from put_new(sql, self.key, 0, StateChange(self.change.app, self.change.user, {}))
