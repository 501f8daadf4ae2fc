"""The changes that a durable store makes, each the statements of one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from newel.claims.errors import SessionBusyError
from newel.sessions.event_log import EventLog
from newel.sessions.pairing import check_pairing
from newel.sessions.stored.encoding import StoredEvent
from newel.sessions.stored.leases import Lease
from newel.sessions.stored.reads import View
from newel.sessions.stored.rows import Appended, Changes, Data, Key, Row, State, StateChange
from newel.sessions.stored.statements import SCOPES, Hold, Scope, Shape, Statements
from newel.sessions.stored.steps import Batch, Query, Steps
from newel.sessions.views import check_new, fenced, stale
from newel_kernel import (
    AlreadyExistsError,
    FencedError,
    Session,
    SessionNotFoundError,
    StaleSessionError,
    brief,
)


@dataclass(slots=True)
class Create:
    """Creates a session, possibly as a copy of the first `events` of another; the result is its row and state."""

    key: Key
    time: float
    change: StateChange
    source: int = 0
    events: int = 0
    #: Whether an earlier attempt was made whose answer was lost.
    again: bool = False

    single: ClassVar[bool] = False

    @property
    def shared(self) -> bool:
        """See `Write`."""
        return self.change.shared

    def steps(self, sql: Statements, batch: Batch) -> Steps[tuple[Row, State]]:
        """See `Write`."""
        names = tuple(map(sql.dialect.stored, self.key))
        values = (*names, sql.dialect.time(self.time), self.events)
        again, self.again = self.again, True
        created = again and (yield Query(sql.creation, values)).rows
        if not created:
            if not sql.dialect.unless_exists and (yield Query(sql.row, names)).rows:
                raise self._exists()
            rows = (yield Query(sql.create, values)).rows
            rows = rows if sql.dialect.returning else (yield Query(sql.row, names)).rows
            if not rows:
                raise self._exists()
            number = rows[0][0]
            if self.events:
                yield Query(sql.copy, (number, self.source, self.events))
            yield from _change_state(sql, self.key, number, self.change)
        result = yield from View(self.key).steps(sql)
        assert result is not None
        return result

    def _exists(self) -> AlreadyExistsError:
        return AlreadyExistsError(f"Session with id {brief(self.key.id)} already exists.")


@dataclass(slots=True)
class Append:
    """Adds an event. The writer's log says which version the session must have, the view which lease it holds."""

    key: Key
    log: EventLog
    view: Session
    lease: Lease | None
    stored: StoredEvent
    change: StateChange | None
    #: During a run of the session: it makes no view stale.
    out_of_band: bool = False
    #: The first place that an attempt asked for: if its answer was lost, the event may be there, and in the log by now.
    asked: int | None = None

    single: ClassVar[bool] = True

    @property
    def shared(self) -> bool:
        """See `Write`."""
        return self.change is not None and self.change.shared

    def steps(self, sql: Statements, batch: Batch) -> Steps[Appended]:
        """See `Write`."""
        log, event = self.log, self.stored.event
        data = self.stored.data.decode() if sql.dialect.as_text else self.stored.data
        earlier = batch.added(log)
        if self.asked is not None and (read := self._read_meanwhile(self.asked)) is not None:
            return Appended(read, (yield from self._stored_before(sql, read)))
        check_new(log, event, earlier)
        check_pairing(log, event, earlier)
        log.coming = earlier, event
        version = len(log) + len(earlier)
        if self.asked is None:
            self.asked = version
        hold = self._hold()
        counting = (log.number, version, sql.dialect.time(event.timestamp), data, *self._guard(hold))
        if sql.dialect.at_once:
            shape, values = _together(sql, self.key, log.number, self.change)
            reply = yield Query(sql.append(hold, shape), (*counting, *values))
            rows, counted = reply.rows, bool(reply.rows)
        else:
            reply = yield Query(sql.count(hold), counting)
            rows, counted = reply.rows, reply.changed(hold == "taking" and sql.dialect.returning)
            if counted:
                yield Query(sql.add, counting[:4])
                if self.change is not None:
                    yield from _change_state(sql, self.key, log.number, self.change)
        lease = self.view.lease
        if not counted:
            lease = yield from self._stored_before(sql, version)
        elif hold == "taking":
            lease = rows[0][0] if rows else (yield Query(sql.obstacle, (log.number, version))).rows[0][1]
        batch.add(log, version, event)
        return Appended(version, lease)

    def _read_meanwhile(self, asked: int) -> int | None:
        """The place of the event in the log, if another view has read it since an attempt whose answer was lost."""
        if not self.log.knows(event_id := self.stored.event.id):
            return None
        return next((at for at in range(asked, len(self.log)) if self.log[at].id == event_id), None)

    def _hold(self) -> Hold:
        return "none" if self.lease is None else "held" if self.lease.taken else "taking"

    def _guard(self, hold: Hold) -> tuple[object, ...]:
        if self.lease is None:
            return self.view.lease, int(self.out_of_band)
        if hold == "held":
            return self.view.lease, self.lease.seconds
        return self.lease.owner, self.lease.seconds, self.lease.dead_owner

    def _stored_before(self, sql: Statements, version: int) -> Steps[int]:
        """The epoch, if an attempt whose answer was lost has stored this event; else raises the reason."""
        rows = (yield Query(sql.obstacle, (self.log.number, version))).rows
        outcome = f"event {self.stored.event.id} is not stored"
        if not rows:
            raise SessionNotFoundError(f"the session {brief(self.key.id)!r} was deleted; {outcome}")
        count, epoch, holder, data = rows[0]
        lease = self.lease
        if data is not None and _bytes(data) == self.stored.data:
            return int(epoch) if lease is not None and holder == lease.owner else self.view.lease
        if self.view.lease and epoch != self.view.lease:
            raise FencedError(f"{fenced(self.key.id, self.view.lease, epoch)}; {outcome}")
        if lease is not None and not lease.taken and holder not in (None, lease.owner, lease.dead_owner):
            raise SessionBusyError.of(self.key.id, holder)
        raise StaleSessionError(stale(self.key.id, count, version, self.stored.event))


@dataclass(frozen=True, slots=True)
class Delete:
    """Removes a session with its events and its own state; the scopes it shares stay."""

    key: Key

    single: ClassVar[bool] = False
    shared: ClassVar[bool] = False

    def steps(self, sql: Statements, batch: Batch) -> Steps[None]:
        """See `Write`."""
        for row in (yield Query(sql.row, tuple(map(sql.dialect.stored, self.key)))).rows:
            for statement in sql.delete:
                yield Query(statement, (row[0],))


@dataclass(frozen=True, slots=True)
class Take:
    """Takes the lease of a session; the result is its epoch, or None if another owner has it."""

    key: Key
    owner: str
    #: The owner that had it before, if it is known to be dead.
    dead_owner: str | None
    seconds: float

    single: ClassVar[bool] = True
    shared: ClassVar[bool] = False

    def steps(self, sql: Statements, batch: Batch) -> Steps[int | None]:
        """See `Write`."""
        names = tuple(map(sql.dialect.stored, self.key))
        reply = yield Query(sql.take, (*names, self.owner, self.seconds, self.dead_owner))
        rows = reply.rows
        if not rows and reply.changed(sql.dialect.returning):
            return (yield Query(sql.row, names)).rows[0][2]  # type: ignore[no-any-return]
        return int(rows[0][0]) if rows else None


@dataclass(frozen=True, slots=True)
class Prolong:
    """Prolongs a lease (None: gives it back); the result says whether it was still held."""

    key: Key
    number: int
    lease: int
    seconds: float | None

    single: ClassVar[bool] = True
    shared: ClassVar[bool] = False

    def steps(self, sql: Statements, batch: Batch) -> Steps[bool]:
        """See `Write`."""
        values = (self.number, self.lease)
        query = Query(sql.give_back, values) if self.seconds is None else Query(sql.prolong, (*values, self.seconds))
        return (yield query).changed(sql.dialect.returning)


class Renewed(NamedTuple):
    """The leases that were renewed, and those that other owners have. The rows of all others were locked."""

    held: Collection[Lease]
    gone: Collection[Lease]


@dataclass(frozen=True, slots=True)
class Renew:
    """Renews leases that are held, all that can be renewed without waiting for another transaction."""

    leases: Sequence[Lease]

    single: ClassVar[bool] = False
    shared: ClassVar[bool] = False

    def steps(self, sql: Statements, batch: Batch) -> Steps[Renewed]:
        """See `Write`."""
        numbers = sorted({lease.number for lease in self.leases})
        query = sql.epochs(len(numbers), bool(sql.dialect.unlocked))
        free = {number for number, _ in (yield Query(query, numbers)).rows}
        for seconds in {lease.seconds for lease in self.leases}:
            ours = [lease for lease in self.leases if lease.seconds == seconds and lease.number in free]
            if ours:
                pairs = [value for lease in ours for value in (lease.number, lease.view.lease)]
                yield Query(sql.prolong_all(len(ours)), (seconds, *pairs))
        epochs = {row[0]: row[1] for row in (yield Query(sql.epochs(len(numbers), False), numbers)).rows}
        current = [lease for lease in self.leases if epochs.get(lease.number) == lease.view.lease]
        return Renewed(
            [lease for lease in current if lease.number in free],
            [lease for lease in self.leases if lease not in current],
        )


def _bytes(data: Data) -> bytes:
    return data.encode() if isinstance(data, str) else bytes(data)


def scopes_of(
    sql: Statements, key: Key, number: int, change: StateChange
) -> Iterator[tuple[Scope, tuple[object, ...], Changes]]:
    """Each scope with its owners and changes; the keys in a fixed order, so that two writers never deadlock."""
    stored = sql.dialect.stored
    app, user = stored(key.app_name), stored(key.user_id)
    owners: Sequence[tuple[object, ...]] = ((app,), (app, user), (number,))
    for scope, owner, changes in zip(SCOPES, owners, (change.app, change.user, change.session), strict=True):
        yield scope, owner, {name: changes[name] for name in sorted(changes)} if len(changes) > 1 else changes


def _change_state(sql: Statements, key: Key, number: int, change: StateChange) -> Steps[None]:
    text = sql.dialect.as_text
    for scope, owner, changes in scopes_of(sql, key, number, change):
        for name, value in changes.items():
            stored = sql.dialect.stored(name)
            if value is None:
                yield Query(sql.remove(scope), (*owner, stored))
            else:
                yield Query(sql.put(scope), (*owner, stored, value.decode() if text else value))


def _together(sql: Statements, key: Key, number: int, change: StateChange | None) -> tuple[Shape, list[object]]:
    """The shape of a change, and the values of the one statement that makes it."""
    if change is None:
        return Shape(), []
    scopes = list(scopes_of(sql, key, number, change))
    stored = sql.dialect.stored
    puts = [[(stored(n), v.decode()) for n, v in changes.items() if v is not None] for _, _, changes in scopes]
    removals = [[stored(n) for n, v in changes.items() if v is None] for _, _, changes in scopes]
    values: list[object] = []
    for (_, owner, _), new in zip(scopes, puts, strict=True):
        if new:
            values += [*owner, [name for name, _ in new], [value for _, value in new]]
    for (_, owner, _), names in zip(scopes, removals, strict=True):
        if names:
            values += [*owner, names]
    return Shape(tuple(map(bool, puts)), tuple(map(bool, removals))), values
