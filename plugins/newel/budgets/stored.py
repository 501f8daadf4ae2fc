"""StoredLedger: the accounts in the database of the sessions, alike in SQLite, PostgreSQL, MariaDB and MySQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias
from weakref import WeakKeyDictionary, WeakSet

from newel.budgets.ledger import HELD, Account, Claim, Verdict, decide, in_order
from newel.contexts.limits import Unit
from newel.sessions.stored import accounts
from newel.sessions.stored.rows import Key
from newel.sessions.stored.service import StoredSessionService
from newel.sessions.stored.statements import Statements
from newel.sessions.stored.steps import Batch, Query, Steps
from newel_kernel import BaseSessionService, seam

#: Whose accounts most calls share come first: writes of these take turns within a process.
_WIDEST = ("all", "app", "user", "session", "run")


#: The advisory lock by which processes take turns to make the tables in PostgreSQL.
_TABLES_LOCK = 0x6E65776262
#: Made with the first limit, so that a store without limits has no table more.
_TABLES = (
    """CREATE TABLE IF NOT EXISTS {budgets} (
        id {name} NOT NULL, unit {name} NOT NULL, spent {integer} NOT NULL DEFAULT 0,
        raised {integer} NOT NULL DEFAULT 0, most {integer}, used {integer} NOT NULL,
        PRIMARY KEY (id, unit)){clustered}""",
    """CREATE TABLE IF NOT EXISTS {holds} (
        account {name} NOT NULL, unit {name} NOT NULL, hold {name} NOT NULL, amount {integer} NOT NULL,
        counted {integer} NOT NULL DEFAULT 0, lapses {time} NOT NULL,
        PRIMARY KEY (account, unit, hold)){clustered}""",
)


class _Statements:
    """The statements of accounts in a dialect. Each of an account's begins with its id (?1) and unit (?2)."""

    def __init__(self, sql: Statements) -> None:
        budgets, holds = sql.table(accounts.BUDGETS), sql.table(accounts.HOLDS)
        own, of = "id = ?1 AND unit = ?2", "account = ?1 AND unit = ?2"
        words = {**sql.dialect.types, "budgets": budgets, "holds": holds}
        self.tables = [table.format(**words) for table in _TABLES]
        if sql.dialect.name == "postgresql":
            self.tables.insert(0, f"SELECT pg_advisory_xact_lock({_TABLES_LOCK:d})")
        over = accounts.over(sql)
        unless = sql.dialect.unless_exists or "ON DUPLICATE KEY UPDATE unit = unit"
        self.make = f"INSERT INTO {budgets} (id, unit, used) VALUES (?1, ?2, ?3) {unless}"
        self.lock = f"SELECT spent, raised FROM {budgets} WHERE {own}{accounts.lock(sql)}"
        #: A call that waits asks often, and must then change nothing.
        self.limit = f"UPDATE {budgets} SET most = ?3 WHERE {own} AND (most IS NULL OR most <> ?3)"
        self.spend = f"UPDATE {budgets} SET spent = spent + ?3, used = ?4 WHERE {own}"
        self.lift = f"UPDATE {budgets} SET raised = raised + ?3, used = ?4 WHERE {own}"
        self.clear = f"UPDATE {budgets} SET spent = 0, raised = 0 WHERE id = ?1"
        self.forget = f"DELETE FROM {holds} WHERE account = ?1 AND counted = 1"
        self.lapsed = f"SELECT hold, amount FROM {holds} WHERE {of} AND counted = 0 AND {over}"
        self.count = f"UPDATE {holds} SET counted = 1 WHERE {of} AND hold = ?3"
        self.held = f"SELECT coalesce(sum(amount), 0) FROM {holds} WHERE {of} AND counted = 0"
        self.hold = f"INSERT INTO {holds} (account, unit, hold, amount, lapses) VALUES (?1, ?2, ?3, ?4, {sql.later(5)})"
        self.found = f"SELECT amount, counted FROM {holds} WHERE {of} AND hold = ?3"
        self.renew = f"UPDATE {holds} SET lapses = {sql.later(4)} WHERE {of} AND hold = ?3"
        self.end = f"DELETE FROM {holds} WHERE {of} AND hold = ?3"
        of_row = "account = id AND h.unit = b.unit AND counted = 0"
        amounts = f"SELECT coalesce(sum(amount), 0) FROM {holds} AS h WHERE {of_row}"
        shown = (
            f"SELECT id, unit, spent, raised, most, ({amounts} AND {over}), ({amounts} AND NOT ({over})), used "
            f"FROM {budgets} AS b"
        )
        self.all, self.one = f"{shown} ORDER BY id, unit", f"{shown} WHERE id = ?1 ORDER BY unit"


#: An account's id, as the dialect stores it, and its unit.
_Named: TypeAlias = tuple[str | bytes, Unit]
_made: WeakKeyDictionary[Statements, _Statements] = WeakKeyDictionary()


def _statements(sql: Statements) -> _Statements:
    if (made := _made.get(sql)) is None:
        made = _made[sql] = _Statements(sql)
    return made


class _Write:
    """A write that belongs to no session."""

    __slots__ = ()

    single: ClassVar[bool] = False
    #: Two that lock several accounts would wait for each other, if they were in groups.
    shared: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class _Change(_Write):
    """A write of the accounts of a call."""

    claims: Sequence[Claim]

    @property
    def key(self) -> Key:
        """No session's: that of the account that most calls share."""
        widest = min((claim.account for claim in self.claims), key=_width, default="")
        return Key("", "", widest)


def _width(account: str) -> int:
    return next((n for n, name in enumerate(_WIDEST) if account.startswith(f'["{name}"')), len(_WIDEST))


@dataclass(frozen=True, slots=True)
class _Reserve(_Change):
    hold: str
    seconds: float

    def steps(self, sql: Statements, batch: Batch) -> Steps[Verdict]:
        """See `Write`."""
        own = _statements(sql)
        named = _named(sql, self.claims)
        locked = yield from _locked(own, named)
        for claim, account, (spent, raised) in zip(self.claims, named, locked, strict=True):
            if (yield Query(own.found, (*account, self.hold))).rows:
                return HELD  # an earlier attempt's answer was lost
            spent += yield from _lapse(own, account)
            (held,) = (yield Query(own.held, account)).rows[0]
            if claim.limit is not None:
                yield Query(own.limit, (*account, claim.limit))
            state = decide(claim, spent=spent, raised=raised, held=int(held))
            if state != "held":
                return Verdict(state, claim, spent, raised)
        for claim, account in zip(self.claims, named, strict=True):
            yield Query(own.hold, (*account, self.hold, claim.amount, self.seconds))
        return HELD


def _named(sql: Statements, claims: Sequence[Claim]) -> list[_Named]:
    return [(sql.dialect.stored(claim.account), claim.unit) for claim in claims]


def _locked(own: _Statements, named: Sequence[_Named]) -> Steps[list[Sequence[int]]]:
    """Make accounts that are not there, and lock all; what is spent of each, and by how much it was raised.

    All are locked before one is read: a transaction of MariaDB and MySQL sees what was there when it first read, not
    what those that it then waited for have written. One that another transaction removes meanwhile is made again.
    """
    found: list[Sequence[int]] = []
    for account in named:
        rows: Sequence[Sequence[int]] = ()
        while not rows:
            yield Query(own.make, (*account, _now()))
            rows = (yield Query(own.lock, account)).rows
        found.append(rows[0])
    return found


def _now() -> int:
    """The time by the calendar, in seconds since the epoch."""
    return round(seam.clock())


def _lapse(own: _Statements, account: _Named) -> Steps[int]:
    """Count what calls that were not renewed may have cost as spent; return how much that is."""
    lapsed = (yield Query(own.lapsed, account)).rows
    for hold, _ in lapsed:
        yield Query(own.count, (*account, hold))
    total: int = sum(amount for _, amount in lapsed)
    if total:
        yield Query(own.spend, (*account, total, _now()))
    return total


@dataclass(frozen=True, slots=True)
class _Renew(_Change):
    hold: str
    seconds: float

    def steps(self, sql: Statements, batch: Batch) -> Steps[None]:
        """See `Write`."""
        own = _statements(sql)
        for account in _named(sql, self.claims):
            yield Query(own.lock, account)
            yield Query(own.renew, (*account, self.hold, self.seconds))


@dataclass(frozen=True, slots=True)
class _Settle(_Change):
    hold: str
    used: Mapping[Unit, int]

    def steps(self, sql: Statements, batch: Batch) -> Steps[None]:
        """See `Write`."""
        own = _statements(sql)
        named = _named(sql, self.claims)
        for account in named:
            yield Query(own.lock, account)
        for claim, account in zip(self.claims, named, strict=True):
            rows = (yield Query(own.found, (*account, self.hold))).rows
            if not rows:
                continue  # an earlier attempt, whose answer was lost, has settled it
            held, counted = rows[0]
            amount = self.used.get(claim.unit, 0)
            if change := amount - (held if counted else 0):
                yield Query(own.spend, (*account, change, _now()))
            yield Query(own.end, (*account, self.hold))


class _MakeTables(_Write):
    """Makes the tables, unless they are there."""

    key: ClassVar[Key] = Key("", "", "")

    def steps(self, sql: Statements, batch: Batch) -> Steps[None]:
        """See `Write`."""
        for statement in _statements(sql).tables:
            yield Query(statement)


@dataclass(frozen=True, slots=True)
class _OfOne(_Write):
    """A write of one account."""

    account: str

    @property
    def key(self) -> Key:
        """No session's: that of the account."""
        return Key("", "", self.account)


@dataclass(frozen=True, slots=True)
class _Raise(_OfOne):
    """Raises a limit. A row of a hold that is over keeps its id, so that it does so once."""

    unit: Unit
    amount: int
    once: str

    def steps(self, sql: Statements, batch: Batch) -> Steps[None]:
        """See `Write`."""
        own, account = _statements(sql), (sql.dialect.stored(self.account), self.unit)
        yield from _locked(own, [account])
        if not (yield Query(own.found, (*account, self.once))).rows:
            yield Query(own.hold, (*account, self.once, 0, 0.0))
            yield Query(own.count, (*account, self.once))
            yield Query(own.lift, (*account, self.amount, _now()))


@dataclass(frozen=True, slots=True)
class _Reset(_OfOne):
    def steps(self, sql: Statements, batch: Batch) -> Steps[None]:
        """See `Write`."""
        own, account = _statements(sql), (sql.dialect.stored(self.account),)
        yield Query(own.clear, account)
        yield Query(own.forget, account)


@dataclass(frozen=True, slots=True)
class _Remove(_OfOne):
    """Removes an account, unless it is not what it was when it was read; the result says whether it did."""

    unit: Unit
    spent: int
    raised: int

    def steps(self, sql: Statements, batch: Batch) -> Steps[bool]:
        """See `Write`."""
        own, account = _statements(sql), (sql.dialect.stored(self.account), self.unit)
        for spent, raised in (yield Query(own.lock, account)).rows:
            spent += yield from _lapse(own, account)
            is_same = (spent, raised) == (self.spent, self.raised)
            if is_same and not (yield from accounts.is_under_way(sql, account)):
                yield from accounts.removal(sql, account)
                return True
        return False


@dataclass(frozen=True, slots=True)
class _Accounts:
    ids: Collection[str] | None
    many: ClassVar[bool] = True

    def steps(self, sql: Statements) -> Steps[list[Account]]:
        """See `Read`."""
        own = _statements(sql)
        if self.ids is None:
            rows = (yield Query(own.all)).rows
        else:
            rows = []
            for id_ in sorted(self.ids):
                rows += (yield Query(own.one, (sql.dialect.stored(id_),))).rows
        return [
            Account(sql.dialect.read(id_), _text(unit), spent + int(lapsed), int(held), raised, limit, used)
            for id_, unit, spent, raised, limit, lapsed, held, used in rows
        ]


def _text(unit: str | bytes) -> Unit:
    return unit.decode() if isinstance(unit, bytes) else unit  # type: ignore[return-value]


#: The services in whose databases this process has seen the tables.
_prepared: WeakSet[StoredSessionService] = WeakSet()


class StoredLedger:
    """See `Ledger`."""

    def __init__(self, service: StoredSessionService) -> None:
        self._service = service

    async def _ready(self) -> StoredSessionService:
        """The service, once its database has the tables."""
        if self._service not in _prepared:
            await self._service.commit(_MakeTables())
            _prepared.add(self._service)
        return self._service

    async def reserve(self, hold: str, claims: Sequence[Claim], seconds: float) -> Verdict:
        """See `Ledger`."""
        return await (await self._ready()).commit(_Reserve(in_order(claims), hold, seconds))

    async def renew(self, hold: str, claims: Sequence[Claim], seconds: float) -> None:
        """See `Ledger`."""
        await (await self._ready()).commit(_Renew(in_order(claims), hold, seconds))

    async def settle(self, hold: str, claims: Sequence[Claim], used: Mapping[Unit, int]) -> None:
        """See `Ledger`."""
        await (await self._ready()).commit(_Settle(in_order(claims), hold, used))

    async def raise_limit(self, account: str, unit: Unit, amount: int, *, once: str = "") -> None:
        """See `Ledger`."""
        await (await self._ready()).commit(_Raise(account, unit, amount, once or seam.new_id()))

    async def reset(self, account: str) -> None:
        """See `Ledger`."""
        await (await self._ready()).commit(_Reset(account))

    async def remove(self, account: Account) -> bool:
        """See `Ledger`."""
        write = _Remove(account.id, account.unit, account.spent, account.raised)
        return await (await self._ready()).commit(write)

    async def accounts(self, ids: Collection[str] | None = None) -> list[Account]:
        """See `Ledger`."""
        return await (await self._ready()).read(_Accounts(ids))


def of_database(service: BaseSessionService) -> StoredLedger | None:
    """The ledger in the database of these sessions; None: they are not in one."""
    return StoredLedger(service) if isinstance(service, StoredSessionService) else None
