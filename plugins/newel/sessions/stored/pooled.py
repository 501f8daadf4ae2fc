"""PooledDatabase: a server's database behind a bounded pool of connections, as a `Database`.

A driver says how it connects and runs a statement, and sorts its errors: `Trouble` is worth another attempt.
"""

from __future__ import annotations

import asyncio
import math
import os
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, TypeVar

from newel.connections import PerLoop
from newel.sessions.errors import StoreUnavailableError
from newel.sessions.stored import clockwork
from newel.sessions.stored.changes import Listener
from newel.sessions.stored.committer import Committer, Item
from newel.sessions.stored.keeper import Keeper
from newel.sessions.stored.leases import Leases
from newel.sessions.stored.outcome import Outcome, settled
from newel.sessions.stored.patience import patience_ends
from newel.sessions.stored.pooled_renewal import PooledRenewal
from newel.sessions.stored.statements import Statements
from newel.sessions.stored.steps import Batch, Query, Read, Reply, RolledBack, Steps, Trouble, Write
from newel.sessions.stored.writes import Renew, Renewed
from newel_kernel import ConfigurationError, SessionError

T = TypeVar("T")
_VACUUM_SECONDS = 86400.0
#: How long to wait before the second attempt, and before any, in seconds.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.5


class Rejected(SessionError):
    """The database has refused a statement, so its whole transaction has failed."""


class Connection(ABC):
    """One connection of the pool, in no transaction."""

    @abstractmethod
    async def run(self, query: Query) -> Reply:
        """Run one statement."""

    @abstractmethod
    def transaction(self, shortest_lease: float = math.inf) -> AbstractAsyncContextManager[None]:
        """A transaction that is committed at the end of the block, and rolled back if the block fails.

        The server ends one that stands still for longer than leases allow (see `time_limits`).
        """


class Pool(ABC):
    """The connections of one event loop."""

    @abstractmethod
    def connection(self) -> AbstractAsyncContextManager[Connection]:
        """A connection; raises Trouble if none can be had in time."""

    @abstractmethod
    async def close(self) -> None:
        """Close the connections."""


class _Loop:
    """The pool and the committer of one event loop: connections cannot be used from another one."""

    def __init__(self, pool: Pool, committer: Committer) -> None:
        self.pool = pool
        self.committer = committer
        self.ready = asyncio.Lock()
        self.prepared = False


class PooledDatabase(ABC):
    """Runs reads and writes over a pool; on Trouble it tries them again, for `patience` seconds at most."""

    def __init__(self, name: str, statements: Statements, leases: Leases, *, patience: float) -> None:
        #: The store's name in error messages, without a password.
        self.name = name
        self._statements = statements
        self._leases = leases
        self._patience = patience
        self._loops = PerLoop(self._make)
        self._closed = False
        self._pid = os.getpid()
        self._keeper = Keeper(leases, PooledRenewal(name, self.make_pool, self._renewed))

    #: Whether a statement outside of a transaction commits by itself, so that a `single` write needs no transaction.
    one_statement_commits = False
    #: How many connections may write at a time: one in SQLite, which allows one writer.
    writers = 8

    @abstractmethod
    def make_pool(self) -> Pool:
        """A pool for the running loop; it connects when it is used."""

    @abstractmethod
    async def prepare(self, connection: Connection) -> None:
        """Make the tables, or bring them to this version."""

    async def read(self, question: Read[T]) -> T:
        """See `Database`."""

        async def answer(connection: Connection) -> T:
            return await driven(connection, question.steps(self._statements))

        self._mine()
        return await self._attempted(answer, cuts=not question.many)

    async def commit(self, write: Write[T], then: Callable[[T], object] | None = None) -> T:
        """See `Database`."""
        return await settled(self._mine().committer.submit(write), then)

    async def vacuum(self) -> None:
        """See `Database`. The server lets others read and write meanwhile."""

        async def clear(connection: Connection) -> None:
            for statement in self._statements.vacuum:
                await connection.run(Query(statement, seconds=_VACUUM_SECONDS))

        self._mine()
        await self._attempted(clear, cuts=False)

    async def backup(self, target: str) -> None:
        """See `Database`."""
        raise ConfigurationError(
            f"the session store {self.name} is a database of a server, which is backed up with the server's own tool "
            f"(pg_dump, mariadb-dump): `newel sessions backup` copies SQLite files"
        )

    def send(self, write: Write[object]) -> None:
        """Commit `write` soon, even if the loop is about to end: its last tasks are waited for."""
        with suppress(RuntimeError, SessionError):  # no loop, or closed: the lease runs out
            self._mine().committer.submit(write).add_done_callback(Outcome.exception)  # a failure is not reported

    def listener(self, wake: Callable[[int], object]) -> Listener | None:
        """See `Database`. Servers differ in that, and most cannot."""
        return None

    async def close(self) -> None:
        """See `Database`."""
        self._closed = True
        await asyncio.to_thread(self._keeper.close)
        mine = self._loops.peek()
        if mine is None:
            return
        while tasks := mine.committer.tasks:
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(0)  # those that have ended leave the set with the loop's next step
        await self._loops.close()
        await mine.pool.close()

    async def _committed(self, items: list[Item]) -> None:
        """Commit writes together or, if that is refused, each on its own; what meets Trouble is left undone.

        A group changes rows of its sessions only, in the order of their keys: two groups never wait for each other.
        """
        group = sorted((item for item in items if not item.write.shared), key=lambda item: item.write.key)
        if len(group) < 2 or await self._tried(self._together(group), items):
            await self._each(items)

    async def _each(self, items: Sequence[Item]) -> None:
        """Commit writes one by one until one meets Trouble; those that were tried least often come first."""
        for item in sorted(items, key=lambda item: item.attempts):
            if not item.outcome.done():
                item.attempts += 1
                if not await self._tried(self._try(item, items), items):
                    return

    async def _committed_again(self, items: list[Item]) -> None:
        """Commit those whose sessions no other transaction has locked; then wait for a lock, and for one only.

        If all were waited for, one after the other, the first would use up the patience of the others, which may be
        free by then.
        """
        items = [item for item in items if not item.outcome.done()]
        free: list[Item] = []
        if not items:
            return

        async def look(connection: Connection) -> None:
            for item in items:
                names = tuple(map(self._statements.dialect.stored, item.write.key))
                if (await connection.run(Query(self._statements.free_row, names))).rows:
                    free.append(item)

        if await self._tried(self._within(_first_end(items), look), items):
            await self._committed([item for item in free if not item.outcome.done()])
            await self._each([item for item in items if not item.outcome.done()])

    async def _tried(self, attempt: Coroutine[Any, Any, object], items: Sequence[Item]) -> bool:
        """Whether an attempt met no Trouble; else those of `items` that are late, or that nobody wants, have ended."""
        try:
            await attempt
        except Trouble as trouble:
            now = clockwork.elapsed()
            for item in items:
                if item.outcome.done():
                    continue
                item.outcome.pause()
                if now >= item.until and not item.outcome.done():
                    item.outcome.set_exception(self._unavailable(trouble))
            return False
        return True

    async def _try(self, item: Item, others: Sequence[Item]) -> None:
        """Make one attempt, which ends when the first of the `others` is late; raises Trouble."""

        async def attempt(connection: Connection) -> None:
            if item.outcome.begin():
                item.outcome.set_result(await self._alone(item.write, connection))

        try:
            await self._within(_first_end(others), attempt)
        except Trouble:
            raise
        except Exception as error:  # noqa: BLE001 - it goes to the caller that waits for the write
            if not item.outcome.done():
                item.outcome.set_exception(error)

    async def _alone(self, write: Write[T], connection: Connection) -> T:
        batch = Batch()
        steps = write.steps(self._statements, batch)
        if write.single and self.one_statement_commits:
            result = await driven(connection, steps)
        else:
            try:
                async with connection.transaction(self._leases.shortest):
                    result = await driven(connection, steps)
            except RolledBack as end:
                result = end.result
        batch.grow()
        return result

    async def _together(self, items: list[Item]) -> None:
        """Commit writes in one transaction, unless it is refused. A write with its own error spoils no other."""
        batch = Batch()
        outcomes: list[tuple[Outcome, object, SessionError | None]] = []

        async def write_all(connection: Connection) -> None:
            wanted = [item for item in items if item.outcome.begin()]
            async with connection.transaction(self._leases.shortest):
                for item in wanted:
                    try:
                        result = await driven(connection, item.write.steps(self._statements, batch))
                        outcomes.append((item.outcome, result, None))
                    except Rejected:
                        raise
                    except SessionError as error:
                        outcomes.append((item.outcome, None, error))

        try:
            await self._within(_first_end(items), write_all)
        except Trouble:
            raise
        except Exception:  # noqa: BLE001 - each is then tried on its own, and gets its own error
            return
        batch.grow()
        for outcome, result, error in outcomes:
            if error is not None:
                outcome.set_exception(error)
            else:
                outcome.set_result(result)

    async def _attempted(self, work: Callable[[Connection], Coroutine[Any, Any, T]], *, cuts: bool) -> T:
        """The result of `work`, tried again while it raises Trouble; `cuts`: the last attempt, too, ends in time."""
        end, pause = patience_ends(self._patience), _FIRST_PAUSE
        while True:
            try:
                return await self._within(end if cuts else None, work)
            except Trouble as trouble:
                if clockwork.elapsed() + pause > end:
                    raise self._unavailable(trouble) from trouble
            pause = await _paused(pause)

    async def _within(self, end: float | None, work: Callable[[Connection], Coroutine[Any, Any, T]]) -> T:
        """One attempt, cut off at `end`; Trouble if another one may succeed."""
        mine = self._loops.get()
        if not mine.prepared:
            await self._prepared(mine)
        try:
            seconds = end - clockwork.elapsed() if end is not None else None
            async with asyncio.timeout(seconds), mine.pool.connection() as connection:
                return await work(connection)
        except TimeoutError as error:
            raise Trouble("no answer in time") from error

    async def _prepared(self, mine: _Loop) -> None:
        """Make the tables; that may take longer than any write waits."""
        async with mine.ready:
            if not mine.prepared:
                async with mine.pool.connection() as connection:
                    await self.prepare(connection)
                mine.prepared = True

    def _unavailable(self, trouble: object = "others are writing") -> StoreUnavailableError:
        return StoreUnavailableError(
            f"the session store {self.name} could not be reached for {self._patience:g} seconds ({trouble}): see "
            f"whether it runs, then try again"
        )

    def _mine(self) -> _Loop:
        if self._closed:
            raise SessionError(f"the session store {self.name} is closed")
        return self._loops.get()

    def _make(self) -> _Loop:
        if self._pid != os.getpid():  # in a forked child, whose parent's leases are not its own
            self._pid = os.getpid()
            self._leases.forget()
        commit, retry = self._committed, self._committed_again
        return _Loop(self.make_pool(), Committer(commit, retry, self.writers, self._patience, self._unavailable))

    async def _renewed(self, pool: Pool, renewal: Renew) -> Renewed:
        async with pool.connection() as connection, connection.transaction(self._leases.shortest):
            return await driven(connection, renewal.steps(self._statements, Batch()))


def _first_end(items: Sequence[Item]) -> float:
    """When the first of the writes that are not done is late."""
    return min(item.until for item in items if not item.outcome.done())


async def _paused(pause: float) -> float:
    """Wait before another attempt; return how long to wait the next time."""
    await asyncio.sleep(pause * (0.5 + random.random()))  # noqa: S311 - so that two do not collide again
    return min(pause * 2, _LONGEST_PAUSE)


async def driven(connection: Connection, steps: Steps[T]) -> T:
    """The result of a read or a write."""
    try:
        query = next(steps)
        while True:
            query = steps.send(await connection.run(query))
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
