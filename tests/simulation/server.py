"""Server: PostgreSQL as the stores' statements meet it: rows with locks, READ COMMITTED, autocommit, time limits.

Each statement is known by its text, which is made for the real server; what it checks is read from its WHERE clause.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from tests.simulation.world import World

from newel.sessions.stored.dialects import POSTGRES
from newel.sessions.stored.statements import SCOPES, SESSION, Scope, Statements
from newel.sessions.stored.steps import Query, Reply

#: A row that is locked: its table, and its key there.
LockKey: TypeAlias = tuple[Any, ...]
#: A statement in execution: it yields each lock that it needs.
Execution: TypeAlias = Iterator[LockKey]
_DEADLOCK_SECONDS = 1.0
_MOST_AT_ONCE = 12


class ServerError(Exception):
    """What the server answers instead of rows; the transaction has failed."""


@dataclass(slots=True)
class Row:
    """A row of `sessions`."""

    number: int
    key: tuple[str, ...]
    version: int = 0
    lease: int = 0
    owner: str | None = None
    lease_until: float | None = None
    in_band: int = 0
    update_time: float = 0.0

    def copy(self) -> Row:
        return Row(
            self.number,
            self.key,
            self.version,
            self.lease,
            self.owner,
            self.lease_until,
            self.in_band,
            self.update_time,
        )


@dataclass(slots=True, eq=False)
class Transaction:
    """What a session of the server has changed and locked."""

    session: ServerSession
    rows: dict[int, Row] = field(default_factory=dict)
    events: list[tuple[int, int, str]] = field(default_factory=list)
    state: dict[LockKey, str | None] = field(default_factory=dict)
    locks: set[LockKey] = field(default_factory=set)
    waits_for: LockKey | None = None
    has_failed: bool = False


class Server:
    """The tables, and who has locked what."""

    def __init__(self, world: World, statements: Statements) -> None:
        self.world = world
        self.rows: dict[int, Row] = {}
        self.numbers: dict[tuple[str, ...], int] = {}
        self.events: dict[int, list[str]] = {}
        self.state: dict[LockKey, str] = {}
        self.locks: dict[LockKey, Transaction] = {}
        self.waiting: dict[LockKey, list[Pending]] = {}
        #: The server's clock runs apart from the owners' clocks.
        self.offset = 50_000.0
        self.silent_until = 0.0
        self.deadlocks = 0
        self.on_commit: Callable[[], object] = lambda: None
        self._count = itertools.count(1)
        self._known = dict(_meanings(statements))

    def now(self) -> float:
        """The server's clock."""
        return self.world.now + self.offset

    def row(self, transaction: Transaction, number: int) -> Row | None:
        """The row as the transaction sees it."""
        return transaction.rows.get(number) or self.rows.get(number)

    def writable(self, transaction: Transaction, number: int) -> Row:
        """The transaction's own version of a row that it has locked."""
        if number not in transaction.rows:
            transaction.rows[number] = self.rows[number].copy()
        return transaction.rows[number]

    def execute(self, transaction: Transaction, query: Query) -> Any:
        """The statement as a generator of the locks that it waits for; it returns the rows."""
        meaning = self._known.get(query.sql)
        assert meaning is not None, query.sql
        return meaning(self, transaction, query.values)

    def commit(self, transaction: Transaction) -> None:
        """Make it all visible, and free its locks."""
        self.rows.update(transaction.rows)
        for row in transaction.rows.values():
            self.numbers[row.key] = row.number
            self.events.setdefault(row.number, [])
        for number, sequence, data in transaction.events:
            assert len(self.events[number]) == sequence, (number, sequence, len(self.events[number]))
            self.events[number].append(data)
        for key, value in transaction.state.items():
            if value is None:
                self.state.pop(key, None)
            else:
                self.state[key] = value
        changed = bool(transaction.rows)
        self.free(transaction)
        if changed:
            self.on_commit()

    def free(self, transaction: Transaction) -> None:
        """Free its locks; those who wait go on."""
        for key in transaction.locks:
            del self.locks[key]
        keys, transaction.locks = sorted(transaction.locks, key=repr), set()
        transaction.rows, transaction.events, transaction.state = {}, [], {}
        for key in keys:
            for pending in self.waiting.pop(key, ()):
                self.world.after(0.0, pending.go_on)

    def closes_ring(self, transaction: Transaction) -> bool:
        """Whether it waits, over others, for itself."""
        seen: set[int] = set()
        holder: Transaction | None = transaction
        while holder is not None and holder.waits_for is not None and id(holder) not in seen:
            seen.add(id(holder))
            holder = self.locks.get(holder.waits_for)
        return holder is transaction

    def next_number(self) -> int:
        return next(self._count)


class ServerSession:
    """One connection as the server sees it."""

    def __init__(self, server: Server, limits: dict[str, float]) -> None:
        self.server = server
        self.limits = limits
        self.is_closed = False
        #: The client is gone, which the server sees once the statement has ended.
        self.is_abandoned = False
        self.transaction: Transaction | None = None
        self._idle_number = 0
        #: The time limits of the transaction alone.
        self._own_limits: dict[str, float] = {}

    def begin(self, own_limits: dict[str, float]) -> None:
        self.transaction = Transaction(self)
        self._own_limits = own_limits
        self.rest()

    def limit(self, name: str) -> float | None:
        """The limit of that name, in seconds; None if there is none."""
        own = self._own_limits if self.transaction is not None and name in self.limits else {}
        return own.get(name) or self.limits.get(name)

    def end(self, commits: bool) -> None:
        """COMMIT or ROLLBACK; a transaction that has failed is rolled back."""
        self._idle_number += 1
        transaction, self.transaction = self.transaction, None
        if transaction is None:
            raise ServerError("there is no transaction")
        if commits and not transaction.has_failed:
            self.server.commit(transaction)
            return
        self.server.free(transaction)
        if commits:
            raise ServerError("the transaction had failed")

    def rest(self) -> None:
        """Wait within the transaction for the client, at most as long as the limits say."""
        self._idle_number += 1
        number = self._idle_number
        if limit := self.limit("idle_in_transaction_session_timeout"):
            self.server.world.after(limit, lambda: self.close() if self._idle_number == number else None)

    def close(self) -> None:
        """End the session: what it had begun is rolled back."""
        self.is_closed = True
        self._idle_number += 1
        if self.transaction is not None:
            self.server.free(self.transaction)
            self.transaction = None


class Pending:
    """A statement that the server executes."""

    def __init__(self, session: ServerSession, query: Query, answer: Callable[[Reply | ServerError], object]) -> None:
        self.session = session
        self.server = session.server
        self.is_alone = session.transaction is None
        self.transaction = session.transaction or Transaction(session)
        self._answer = answer
        session._idle_number += 1
        self._is_over = False
        self._wait_number = 0
        if self.transaction.has_failed:
            self._fail("the transaction has failed")
            return
        self._execution = self.server.execute(self.transaction, query)
        self.go_on()

    def go_on(self) -> None:
        """Execute until the statement ends, or waits for a lock."""
        if self._is_over:
            return
        if self.session.is_closed:
            self._fail("the session is closed")
            return
        transaction, server = self.transaction, self.server
        try:
            while True:
                key = transaction.waits_for or next(self._execution)
                holder = server.locks.get(key)
                if holder is not None and holder is not transaction:
                    self._wait(key)
                    return
                transaction.waits_for = None
                server.locks[key] = transaction
                transaction.locks.add(key)
        except StopIteration as end:
            self._is_over = True
            if self.is_alone:
                server.commit(transaction)
            else:
                self.session.rest()
            self._reply(Reply(end.value, len(end.value)))
        except ServerError as error:
            self._fail(str(error))

    def _wait(self, key: LockKey) -> None:
        self.server.waiting.setdefault(key, []).append(self)
        if self.transaction.waits_for == key and self._wait_number:
            return
        self.transaction.waits_for = key
        self._wait_number += 1
        number = self._wait_number

        def still_waits() -> bool:
            return self.transaction.waits_for == key and self._wait_number == number and not self._is_over

        def check() -> None:
            if still_waits() and self.server.closes_ring(self.transaction):
                self.server.deadlocks += 1
                self._fail("deadlock detected")

        def give_up() -> None:
            if still_waits():
                self._fail("lock timeout")

        self.server.world.after(_DEADLOCK_SECONDS, check)
        if limit := self.session.limit("lock_timeout"):
            self.server.world.after(limit, give_up)

    def _fail(self, why: str) -> None:
        self._is_over = True
        self.transaction.waits_for = None
        self.transaction.has_failed = True
        self.server.free(self.transaction)  # a failed transaction keeps no lock
        if not self.is_alone and not self.session.is_closed:
            self.session.rest()
        self._reply(ServerError(why))

    def _reply(self, answer: Reply | ServerError) -> None:
        if self.session.is_abandoned:
            self.session.close()
        else:
            self._answer(answer)


# --- what the statements mean --------------------------------------------------------------------------------------

Meaning: TypeAlias = Callable[[Server, Transaction, Sequence[Any]], Any]


def _is_over(server: Server, row: Row) -> bool:
    return row.lease_until is None or row.lease_until <= server.now()


def _seconds(server: Server, row: Row) -> float:
    return 0.0 if _is_over(server, row) else (row.lease_until or 0.0) - server.now()


def _columns(server: Server, row: Row) -> tuple[Any, ...]:
    user, name = row.key[1:]
    left = _seconds(server, row)
    return (row.number, row.version, row.lease, row.update_time, row.owner, left, row.in_band, user, name)


def _found(server: Server, transaction: Transaction, key: Sequence[Any]) -> Row | None:
    number = server.numbers.get(tuple(key[:3]))
    for own in transaction.rows.values():
        if own.key == tuple(key[:3]):
            return own
    return server.row(transaction, number) if number is not None else None


def _reading(read: Callable[[Server, Transaction, Sequence[Any]], list[Any]]) -> Meaning:
    """A statement that locks nothing."""

    def execute(server: Server, transaction: Transaction, values: Sequence[Any]) -> Any:
        return read(server, transaction, values)
        yield ()  # it is a generator, as all are

    return execute


def _row(server: Server, transaction: Transaction, values: Sequence[Any]) -> list[Any]:
    row = _found(server, transaction, values)
    return [_columns(server, row)] if row is not None else []


def _free_row(server: Server, transaction: Transaction, values: Sequence[Any]) -> Any:
    row = _found(server, transaction, values)
    if row is None or server.locks.get(("sessions", row.number)) not in (None, transaction):
        return []
    yield ("sessions", row.number)
    return [_columns(server, row)]


def _view(server: Server, transaction: Transaction, values: Sequence[Any]) -> list[Any]:
    row = _found(server, transaction, values)
    app, user = values[0], values[1]
    rows: list[Any] = [(0, None, None, *_columns(server, row))] if row is not None else []
    owners = {"app_state": (app,), "user_state": (app, user), "session_state": (row.number if row else None,)}
    state = {**server.state, **transaction.state}
    for part, scope in enumerate(SCOPES, 1):
        rows += [
            (part, key[2], value, *[None] * 9)
            for key, value in state.items()
            if key[0] == scope.table and key[1] == owners[scope.table] and value is not None
        ]
    return rows


def _tail(server: Server, transaction: Transaction, values: Sequence[Any]) -> list[Any]:
    number, first, last = values[:3]
    return list(enumerate(server.events.get(number, [])[first:last], first))


def _obstacle(server: Server, transaction: Transaction, values: Sequence[Any]) -> list[Any]:
    number, sequence = values
    row = server.row(transaction, number)
    if row is None:
        return []
    own = [data for at, place, data in transaction.events if at == number and place == sequence]
    events = own or server.events.get(number, [])[sequence : sequence + 1]
    holder = None if _is_over(server, row) else row.owner
    return [(row.version, row.lease, holder, events[0] if events else None)]


def _creation(server: Server, transaction: Transaction, values: Sequence[Any]) -> list[Any]:
    row = _found(server, transaction, values)
    return [(row.number,)] if row is not None and row.version == values[4] else []


def _create(server: Server, transaction: Transaction, values: Sequence[Any]) -> Any:
    key = tuple(values[:3])
    yield ("keys", key)
    if _found(server, transaction, key) is not None:
        return []
    row = Row(server.next_number(), key, values[4], in_band=values[4], update_time=values[3])
    yield ("sessions", row.number)
    transaction.rows[row.number] = row
    return [(row.number,)]


def _is_free(server: Server, row: Row, owner: str, dead_owner: str | None) -> bool:
    return row.owner is None or row.owner in (owner, dead_owner) or _is_over(server, row)


def _give(server: Server, row: Row, owner: str, seconds: float) -> None:
    row.lease += 1
    row.owner, row.lease_until = owner, server.now() + seconds


def _take(server: Server, transaction: Transaction, values: Sequence[Any]) -> Any:
    owner, seconds, dead_owner = values[3:6]
    row = _found(server, transaction, values)
    if row is None:
        return []
    yield ("sessions", row.number)
    row = server.writable(transaction, row.number)
    if not _is_free(server, row, owner, dead_owner):
        return []
    _give(server, row, owner, seconds)
    return [(row.lease,)]


def _lease_update(text: str, gives_back: bool) -> Meaning:
    checks_epoch = " AND lease = " in text

    def execute(server: Server, transaction: Transaction, values: Sequence[Any]) -> Any:
        number, epoch = values[:2]
        if server.row(transaction, number) is None:
            return []
        yield ("sessions", number)
        row = server.writable(transaction, number)
        if checks_epoch and row.lease != epoch:
            return []
        if gives_back:
            row.owner = row.lease_until = None
        else:
            row.lease_until = server.now() + values[2]
        return [(row.lease,)]

    return execute


def _prolong_all(text: str) -> Meaning:
    checks_epoch = "lease = " in text.partition("WHERE")[2]

    def execute(server: Server, transaction: Transaction, values: Sequence[Any]) -> Any:
        seconds, *pairs = values
        for number, epoch in zip(pairs[::2], pairs[1::2], strict=True):
            if server.row(transaction, number) is None:
                continue
            yield ("sessions", number)
            row = server.writable(transaction, number)
            if not checks_epoch or row.lease == epoch:
                row.lease_until = server.now() + seconds
        return []

    return execute


def _epochs(text: str) -> Meaning:
    skips, locks = "SKIP LOCKED" in text, "FOR UPDATE" in text

    def execute(server: Server, transaction: Transaction, values: Sequence[Any]) -> Any:
        rows = []
        for number in values:
            row = server.row(transaction, number)
            holder = server.locks.get(("sessions", number))
            if row is None or (locks and skips and holder is not None and holder is not transaction):
                continue
            if locks:
                yield ("sessions", number)
                row = server.row(transaction, number)
                assert row is not None
            rows.append((number, row.lease))
        return rows

    return execute


def _holds(hold: str, checks_epoch: bool, server: Server, row: Row, values: Sequence[Any]) -> bool:
    """Whether an append may have the row; it takes or prolongs the lease as it says."""
    if hold == "taking":
        owner, seconds, dead_owner = values[4:7]
        if not _is_free(server, row, owner, dead_owner):
            return False
        _give(server, row, owner, seconds)
    elif checks_epoch and values[4] and row.lease != values[4]:
        return False
    elif hold == "held":
        row.lease_until = server.now() + values[5]
    return True


def _append(text: str, hold: str, puts: bool, removes: bool) -> Meaning:
    where = text.partition(" WHERE ")[2].partition(" RETURNING ")[0]
    checks_version, checks_epoch = "version = " in where, " lease = " in where
    holds = partial(_holds, hold, checks_epoch)

    def execute(server: Server, transaction: Transaction, values: Sequence[Any]) -> Any:
        number, version, time, data = values[:4]
        if server.row(transaction, number) is None:
            return []
        yield ("sessions", number)
        row = server.writable(transaction, number)
        if (checks_version and row.version != version) or not holds(server, row, values):
            return []
        if hold != "none" or not values[5]:
            row.in_band = version + 1
        row.version, row.update_time = version + 1, time
        stored = len(server.events.get(number, ())) + sum(one[0] == number for one in transaction.events)
        if stored != version:
            raise ServerError(f"unique violation: event {version} of {stored}")
        transaction.events.append((number, version, data))
        place = 7 if hold == "taking" else 6
        if puts:
            yield from _put(transaction, SESSION, (number,), values[place], values[place + 1])
            place += 2
        if removes:
            yield from _put(transaction, SESSION, (number,), values[place], itertools.repeat(None))
        return [(row.lease,)]

    return execute


def _put(
    transaction: Transaction, scope: Scope, owner: tuple[Any, ...], names: Sequence[str], values: Iterable[str | None]
) -> Execution:
    """Put keys one after the other, or remove them (None)."""
    for name, value in zip(names, values, strict=False):
        lock = (scope.table, owner, name)
        yield lock
        transaction.state[lock] = value


def _state(scope: Scope, several: bool, removes: bool = False) -> Meaning:
    """Puts or removes one key of a scope, or puts several."""
    place = len(scope.owners)

    def execute(server: Server, transaction: Transaction, values: Sequence[Any]) -> Any:
        names = values[place] if several else values[place : place + 1]
        new = itertools.repeat(None) if removes else values[place + 1] if several else values[place + 1 : place + 2]
        yield from _put(transaction, scope, tuple(values[:place]), names, new)
        return []

    return execute


def _put_new(scope: Scope) -> Meaning:
    """Puts one key of a scope, unless it exists."""
    place = len(scope.owners)

    def execute(server: Server, transaction: Transaction, values: Sequence[Any]) -> Any:
        lock = (scope.table, tuple(values[:place]), values[place])
        if lock not in server.state or server.locks.get(lock) not in (None, transaction):
            yield lock
        if lock not in server.state:
            transaction.state[lock] = values[place + 1]
        return []

    return execute


def _meanings(sql: Statements) -> Iterator[tuple[str, Meaning]]:
    """The statements that a run may use, each with what it means."""
    assert sql.dialect is POSTGRES
    yield sql.row, _reading(_row)
    yield sql.free_row, _free_row
    yield sql.view, _reading(_view)
    yield sql.tail, _reading(_tail)
    yield sql.obstacle, _reading(_obstacle)
    yield sql.creation, _reading(_creation)
    yield sql.create, _create
    yield sql.take, _take
    yield sql.prolong, _lease_update(sql.prolong, gives_back=False)
    yield sql.give_back, _lease_update(sql.give_back, gives_back=True)
    for count in range(1, _MOST_AT_ONCE):
        yield sql.prolong_all(count), _prolong_all(sql.prolong_all(count))
        for unlocked in (False, True):
            text = sql.epochs(count, unlocked)
            yield text, _epochs(text)
    for hold in ("none", "held", "taking"):
        for puts, removes in itertools.product((False, True), repeat=2):
            text = sql.append(hold, puts, removes)  # type: ignore[arg-type]
            yield text, _append(text, hold, puts, removes)
    for scope in SCOPES:
        yield sql.put(scope), _state(scope, several=False)
        yield sql.put_new(scope), _put_new(scope)
        yield sql.put_all(scope), _state(scope, several=True)
        yield sql.remove(scope), _state(scope, several=False, removes=True)
