"""The changes that a durable store makes, each the statements of one transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from newel.claims.errors import SessionBusyError
from newel.sessions.event_log import EventLog
from newel.sessions.pairing import check_pairing
from newel.sessions.stored import accounts
from newel.sessions.stored.encoding import StoredEvent
from newel.sessions.stored.leases import Lease
from newel.sessions.stored.reads import View
from newel.sessions.stored.rows import Appended, Data, Key, Row, State, StateChange
from newel.sessions.stored.state_changes import change_state, puts_of
from newel.sessions.stored.statements import Hold, Statements
from newel.sessions.stored.steps import Batch, Query, Reply, RolledBack, Steps, Trouble
from newel.sessions.views import check_after, check_new, fenced, stale
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
            yield from change_state(sql, self.key, number, self.change)
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
    #: How many events the session must have; None: any number.
    after: int | None = None
    #: The first place that an attempt asked for: if its answer was lost, the event may be there, and in the log by now.
    asked: int | None = None

    @property
    def single(self) -> bool:
        """See `Write`."""
        return not self.shared

    @property
    def shared(self) -> bool:
        """See `Write`."""
        return self.change is not None and self.change.shared

    def steps(self, sql: Statements, batch: Batch) -> Steps[Appended]:
        """See `Write`."""
        log, event = self.log, self.stored.event
        earlier = batch.added(log)
        if self.asked is not None and (read := self._read_meanwhile(self.asked)) is not None:
            return Appended(read, (yield from self._stored_before(sql, read)))
        check_new(log, event, earlier)
        check_pairing(log, event, earlier)
        log.coming = earlier, event
        version = len(log) + len(earlier)
        check_after(self.key.id, version, self.after, event)
        if self.asked is None:
            self.asked = version
        change = self.change
        locks_first = change is not None and change.shared and bool(sql.dialect.unlocked)
        if locks_first:
            change = yield from self._change_shared(sql)
        hold = self._hold()
        reply, counted = yield from self._count(sql, hold, version, change)
        lease = self.view.lease
        if not counted:
            lease = yield from self._stored_before(sql, version)
        elif hold == "taking":
            rows = reply.rows
            lease = rows[0][0] if rows else (yield Query(sql.obstacle, (log.number, version))).rows[0][1]
        batch.add(log, version, event)
        if locks_first and not counted:
            raise RolledBack(Appended(version, lease))
        return Appended(version, lease, _followed(reply))

    def _change_shared(self, sql: Statements) -> Steps[StateChange]:
        """Change what sessions share, then lock the session without waiting for it; return the rest of the change.

        The row of a session that waits for others could not be renewed, and what it has locked would keep others.
        """
        assert self.change is not None
        shared, own = self.change.parts()
        yield from change_state(sql, self.key, self.log.number, shared)
        names = tuple(map(sql.dialect.stored, self.key))
        if not (yield Query(sql.free_row, names)).rows and (yield Query(sql.row, names)).rows:
            raise Trouble(f"another transaction has the session {brief(self.key.id)!r} locked")
        return own

    def _count(
        self, sql: Statements, hold: Hold, version: int, change: StateChange | None
    ) -> Steps[tuple[Reply, bool]]:
        """Count and add the event, and change state, unless the session's row forbids it."""
        log, stored = self.log, self.stored
        data = stored.data.decode() if sql.dialect.as_text else stored.data
        values = (log.number, version, sql.dialect.time(stored.event.timestamp), data, *self._guard(hold))
        if sql.dialect.at_once:
            if change is None:
                reply = yield Query(sql.append(hold, False, False), values)
                return reply, bool(reply.rows)
            names, puts = puts_of(sql, change.session)
            removed = [sql.dialect.stored(name) for name, value in change.session.items() if value is None]
            further = [*([names, puts] if names else ()), *([removed] if removed else ())]
            reply = yield Query(sql.append(hold, bool(names), bool(removed)), (*values, *further))
            return reply, bool(reply.rows)
        reply = yield Query(sql.count(hold), values)
        counted = reply.changed(hold == "taking" and sql.dialect.returning)
        if counted:
            yield Query(sql.add, values[:4])
            if change is not None:
                yield from change_state(sql, self.key, log.number, change)
        return reply, counted

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
    """Removes a session with its events, its own state and its accounts; the scopes it shares stay."""

    key: Key

    single: ClassVar[bool] = False
    shared: ClassVar[bool] = False

    def steps(self, sql: Statements, batch: Batch) -> Steps[None]:
        """See `Write`."""
        yield from accounts.removal_of(sql, self.key)
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
    #: Called with the session's number once it is given back, and whether other processes are to be told.
    then: Callable[[int, bool], object] | None = None

    single: ClassVar[bool] = True
    shared: ClassVar[bool] = False

    def steps(self, sql: Statements, batch: Batch) -> Steps[bool]:
        """See `Write`."""
        values = (self.number, self.lease)
        query = Query(sql.give_back, values) if self.seconds is None else Query(sql.prolong, (*values, self.seconds))
        reply = yield query
        if self.then is not None:
            self.then(self.number, _followed(reply))
        return reply.changed(sql.dialect.returning)


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


def _followed(reply: Reply) -> bool:
    """What a database that can tell others says in the last column."""
    return bool(reply.rows) and len(reply.rows[0]) > 1 and bool(reply.rows[0][1])


def _bytes(data: Data) -> bytes:
    return data.encode() if isinstance(data, str) else bytes(data)
