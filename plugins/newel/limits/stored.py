"""StoredGates: the gates in the database of the sessions, alike in SQLite, PostgreSQL, MariaDB and MySQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar
from weakref import WeakKeyDictionary, WeakSet

from newel.limits.gates import FORGOTTEN, GRACE, Turn, Waiting, new_average, turn_of
from newel.sessions.stored.rows import Key
from newel.sessions.stored.service import StoredSessionService
from newel.sessions.stored.statements import Statements
from newel.sessions.stored.steps import Batch, Query, Steps
from newel_kernel import BaseSessionService

#: The advisory lock by which processes take turns to make the tables in PostgreSQL.
_TABLES_LOCK = 0x6E65776C69
#: In the column `held`: it waits at the gate, is in, or is away.
_WAITS, _IN, _AWAY = 0, 1, 2
#: Made with the first limit, so that a store without limits has no table more. Averages are milliseconds.
_TABLES = (
    """CREATE TABLE IF NOT EXISTS {gates} (
        id {name} NOT NULL, following {integer} NOT NULL DEFAULT 0, average {integer} NOT NULL DEFAULT 0,
        free {time} NOT NULL, PRIMARY KEY (id)){clustered}""",
    """CREATE TABLE IF NOT EXISTS {tickets} (
        gate {name} NOT NULL, ticket {name} NOT NULL, number {integer} NOT NULL, held {integer} NOT NULL DEFAULT 0,
        since {time} NOT NULL, lapses {time} NOT NULL, PRIMARY KEY (gate, ticket)){clustered}""",
)


class _Statements:
    """The statements of gates in a dialect. Each begins with the gate's id (?1), most with a ticket's (?2)."""

    def __init__(self, sql: Statements) -> None:
        gates, tickets, dialect = sql.table("limit_gates"), sql.table("limit_tickets"), sql.dialect
        self.tables = [table.format(**{**dialect.types, "gates": gates, "tickets": tickets}) for table in _TABLES]
        if dialect.name == "postgresql":
            self.tables.insert(0, f"SELECT pg_advisory_xact_lock({_TABLES_LOCK:d})")
        own, now = "gate = ?1 AND ticket = ?2", dialect.now
        over = dialect.over.format(column="lapses", now=now)
        unless = dialect.unless_exists or "ON DUPLICATE KEY UPDATE id = id"
        lock = " FOR UPDATE" if dialect.unlocked else ""
        until = {name: dialect.until.format(column=name, now=now) for name in ("free", "lapses", "since")}
        is_free = dialect.over.format(column="free", now=now)
        self.make = f"INSERT INTO {gates} (id, free) VALUES (?1, {now}) {unless}"
        self.lock = f"SELECT following, average FROM {gates} WHERE id = ?1{lock}"
        self.free = f"SELECT CASE WHEN {is_free} THEN 0 ELSE {until['free']} END FROM {gates} WHERE id = ?1{lock}"
        self.pace = f"UPDATE {gates} SET free = {sql.later(2)} WHERE id = ?1"
        self.count = f"UPDATE {gates} SET following = following + 1 WHERE id = ?1"
        self.measure = f"UPDATE {gates} SET average = ?2 WHERE id = ?1"
        forgotten = f"held <> {_IN} AND {until['lapses']} < -{FORGOTTEN:g}"
        self.clear = f"DELETE FROM {tickets} WHERE gate = ?1 AND (held = {_IN} AND {over} OR {forgotten})"
        self.found = f"SELECT number, held, {until['since']} FROM {tickets} WHERE {own}"
        self.add = (
            f"INSERT INTO {tickets} (gate, ticket, number, since, lapses) VALUES (?1, ?2, ?3, {now}, {sql.later(4)})"
        )
        self.ahead = (
            f"SELECT count(*), count(CASE WHEN held <> {_AWAY} THEN 1 END), "
            f"max(CASE WHEN held = {_IN} THEN {until['since']} END) FROM {tickets} "
            f"WHERE gate = ?1 AND (held = {_IN} OR number < ?2 AND NOT ({over}))"
        )
        self.hold = f"UPDATE {tickets} SET held = {_IN}, since = {now}, lapses = {sql.later(3)} WHERE {own}"
        self.wait = f"UPDATE {tickets} SET held = {_WAITS}, lapses = {sql.later(3)} WHERE {own}"
        self.go_away = f"UPDATE {tickets} SET held = {_AWAY}, lapses = {sql.later(3)} WHERE {own}"
        self.keep = f"UPDATE {tickets} SET lapses = {sql.later(3)} WHERE {own}"
        self.end = f"DELETE FROM {tickets} WHERE {own}"


_made: WeakKeyDictionary[Statements, _Statements] = WeakKeyDictionary()


def _statements(sql: Statements) -> _Statements:
    if (made := _made.get(sql)) is None:
        made = _made[sql] = _Statements(sql)
    return made


@dataclass(frozen=True, slots=True)
class _OfGate:
    """A write that belongs to no session, but to a gate."""

    gate: str
    single: ClassVar[bool] = False
    shared: ClassVar[bool] = True

    @property
    def key(self) -> Key:
        """No session's: that of the gate."""
        return Key("", "", self.gate)


@dataclass(frozen=True, slots=True)
class _Enter(_OfGate):
    ticket: str
    limit: int
    lease: float
    waiting: Waiting

    def steps(self, sql: Statements, batch: Batch) -> Steps[Turn]:
        """See `Write`."""
        own, gate = _statements(sql), sql.dialect.stored(self.gate)
        ticket = sql.dialect.stored(self.ticket)
        yield Query(own.make, (gate,))
        ((following, average),) = (yield Query(own.lock, (gate,))).rows
        yield Query(own.clear, (gate,))
        rows = (yield Query(own.found, (gate, ticket))).rows
        if rows and rows[0][1] == _IN:
            yield Query(own.keep, (gate, ticket, self.lease))
            return Turn(True)
        number = rows[0][0] if rows else following
        if not rows:
            yield Query(own.add, (gate, ticket, number, 0.0))
            yield Query(own.count, (gate,))
        ((line, present, youngest),) = (yield Query(own.ahead, (gate, number))).rows
        if present < self.limit:
            yield Query(own.hold, (gate, ticket, self.lease))
            return Turn(True)
        turn = turn_of(line, present, self.limit, average / 1_000, self.waiting, -float(youngest or 0))
        yield Query(own.go_away if turn.away else own.wait, (gate, ticket, turn.seconds + GRACE))
        return turn


@dataclass(frozen=True, slots=True)
class _Renew(_OfGate):
    ticket: str
    lease: float

    def steps(self, sql: Statements, batch: Batch) -> Steps[bool]:
        """See `Write`."""
        own, gate = _statements(sql), sql.dialect.stored(self.gate)
        ticket = sql.dialect.stored(self.ticket)
        yield Query(own.lock, (gate,))
        yield Query(own.clear, (gate,))
        rows = (yield Query(own.found, (gate, ticket))).rows
        if not rows or rows[0][1] != _IN:
            return False
        yield Query(own.keep, (gate, ticket, self.lease))
        return True


@dataclass(frozen=True, slots=True)
class _Leave(_OfGate):
    ticket: str

    def steps(self, sql: Statements, batch: Batch) -> Steps[None]:
        """See `Write`."""
        own, gate = _statements(sql), sql.dialect.stored(self.gate)
        ticket = sql.dialect.stored(self.ticket)
        gates = (yield Query(own.lock, (gate,))).rows
        rows = (yield Query(own.found, (gate, ticket))).rows
        if rows and rows[0][1] == _IN:
            average = new_average(gates[0][1] / 1_000, max(-rows[0][2], 0.0))
            yield Query(own.measure, (gate, max(round(average * 1_000), 1)))
        yield Query(own.end, (gate, ticket))


@dataclass(frozen=True, slots=True)
class _Pace(_OfGate):
    rate: float
    most: float

    def steps(self, sql: Statements, batch: Batch) -> Steps[float | None]:
        """See `Write`."""
        own, gate = _statements(sql), sql.dialect.stored(self.gate)
        yield Query(own.make, (gate,))
        ((seconds,),) = (yield Query(own.free, (gate,))).rows
        if seconds > self.most:
            return None
        yield Query(own.pace, (gate, float(seconds) + 1 / self.rate))
        return float(seconds)


@dataclass(frozen=True, slots=True)
class _MakeTables(_OfGate):
    def steps(self, sql: Statements, batch: Batch) -> Steps[None]:
        """See `Write`."""
        for statement in _statements(sql).tables:
            yield Query(statement)


#: The services in whose databases this process has seen the tables.
_prepared: WeakSet[StoredSessionService] = WeakSet()


class StoredGates:
    """See `Gates`."""

    def __init__(self, service: StoredSessionService) -> None:
        self._service = service

    async def _ready(self) -> StoredSessionService:
        if self._service not in _prepared:
            await self._service.commit(_MakeTables(""))
            _prepared.add(self._service)
        return self._service

    async def enter(self, gate: str, ticket: str, limit: int, lease: float, waiting: Waiting) -> Turn:
        """See `Gates`."""
        return await (await self._ready()).commit(_Enter(gate, ticket, limit, lease, waiting))

    async def renew(self, gate: str, ticket: str, lease: float) -> bool:
        """See `Gates`."""
        return await (await self._ready()).commit(_Renew(gate, ticket, lease))

    async def leave(self, gate: str, ticket: str) -> None:
        """See `Gates`."""
        await (await self._ready()).commit(_Leave(gate, ticket))

    async def pace(self, gate: str, rate: float, most: float) -> float | None:
        """See `Gates`."""
        return await (await self._ready()).commit(_Pace(gate, rate, most))


def of_database(service: BaseSessionService) -> StoredGates | None:
    """The gates in the database of these sessions; None: they are not in one."""
    return StoredGates(service) if isinstance(service, StoredSessionService) else None
