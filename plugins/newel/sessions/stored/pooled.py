"""PooledDatabase: a server's database behind a bounded pool of connections, as a `Database`.

A driver says how it connects and runs a statement, and sorts its errors: `Trouble` is worth another attempt.
"""

from __future__ import annotations

import asyncio
import os
import random
import weakref
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, TypeVar

from newel.sessions.errors import StoreUnavailableError
from newel.sessions.stored.leases import Leases, elapsed
from newel.sessions.stored.statements import Statements
from newel.sessions.stored.steps import Batch, Query, Read, Reply, Steps, Write
from newel.sessions.stored.writes import kept
from newel_kernel import SessionError, seam

T = TypeVar("T")


class Trouble(Exception):
    """The connection was lost, the database is busy, or two transactions met: the same may succeed in a moment."""


class Connection(ABC):
    """One connection of the pool, in no transaction."""

    @abstractmethod
    async def run(self, query: Query) -> Reply:
        """Run one statement."""

    @abstractmethod
    def transaction(self) -> AbstractAsyncContextManager[None]:
        """A transaction that is committed at the end of the block, and taken back where it fails."""


class Pool(ABC):
    """The connections of one event loop."""

    @abstractmethod
    def connection(self) -> AbstractAsyncContextManager[Connection]:
        """A connection; raises Trouble where none can be had in time."""

    @abstractmethod
    async def close(self) -> None:
        """Close the connections."""


class _Loop:
    """What belongs to one event loop: connections cannot be used from another one."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.ready = asyncio.Lock()
        self.prepared = False
        #: Session -> who has its turn and who waits for it.
        self.turns: dict[object, list[Any]] = {}
        self.tasks: set[asyncio.Task[Any]] = set()
        self.pulse: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def turn(self, key: object) -> AsyncIterator[None]:
        """Nobody else of this loop writes to the same meanwhile; who comes first is first."""
        entry = self.turns.setdefault(key, [asyncio.Lock(), 0])
        entry[1] += 1
        try:
            async with entry[0]:
                yield
        finally:
            entry[1] -= 1
            if not entry[1]:
                del self.turns[key]


class PooledDatabase(ABC):
    """Runs reads and writes over a pool, again where there is trouble, for `patience` seconds at most."""

    def __init__(self, name: str, statements: Statements, leases: Leases, *, patience: float) -> None:
        #: The store in error messages; it has no password.
        self.name = name
        self._statements = statements
        self._leases = leases
        self._patience = patience
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Loop] = weakref.WeakKeyDictionary()
        self._closed = False
        self._pid = os.getpid()

    #: Whether a statement outside of a transaction commits by itself, and a write that is `single` is one.
    one_statement_commits = False
    #: Whether the database lets in one writer at a time, so that those of a process had better queue here.
    one_writer = False

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

        return await self._attempted(answer)

    async def commit(self, write: Write[T], then: Callable[[T], object] | None = None) -> T:
        """See `Database`."""
        task = self._task(self._written(write, then))
        cancelled: asyncio.CancelledError | None = None
        while not task.done():
            try:
                await asyncio.wait((task,))
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            task.exception()
            raise cancelled
        return task.result()

    def send(self, write: Write[object]) -> None:
        """Commit `write` soon; also where the loop is about to end, for its last tasks are waited for."""

        async def sent() -> None:
            with suppress(SessionError):
                try:
                    await self._written(write, None)
                except asyncio.CancelledError:
                    await self._written(write, None)

        with suppress(RuntimeError):  # no loop: the lease runs out
            self._task(sent())

    async def close(self) -> None:
        """See `Database`."""
        self._closed = True
        mine = self._loops.pop(asyncio.get_running_loop(), None)
        if mine is None:
            return
        if mine.pulse is not None:
            mine.pulse.cancel()
        await asyncio.gather(*mine.tasks, return_exceptions=True)
        await mine.pool.close()

    def _task(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        try:
            tasks = self._mine().tasks
        except BaseException:
            work.close()
            raise
        task = seam.spawn(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        return task

    async def _written(self, write: Write[T], then: Callable[[T], object] | None) -> T:
        async def written(connection: Connection) -> T:
            batch = Batch()
            steps = write.steps(self._statements, batch)
            if write.single and self.one_statement_commits:
                result = await driven(connection, steps)
            else:
                async with connection.transaction():
                    result = await driven(connection, steps)
            batch.grow()
            if then is not None:
                then(result)
            return result

        mine = self._mine()
        async with mine.turn(None if self.one_writer else getattr(write, "key", id(write))):
            result = await self._attempted(written)
        if self._leases.interval is not None and mine.pulse is None:
            mine.pulse = seam.spawn(self._beat(mine))
        return result

    async def _attempted(self, work: Callable[[Connection], Coroutine[Any, Any, T]]) -> T:
        """The result of `work`, tried again while there is trouble."""
        mine, end, pause = self._mine(), elapsed() + self._patience, 0.01
        while True:
            try:
                async with mine.pool.connection() as connection:
                    if not mine.prepared:
                        await self._prepared(mine, connection)
                    return await work(connection)
            except Trouble as trouble:
                if elapsed() + pause > end:
                    raise StoreUnavailableError(
                        f"the session store {self.name} cannot be reached for {self._patience:g} seconds "
                        f"({trouble}): see whether it runs, then try again",
                    ) from trouble
            await asyncio.sleep(pause * (0.5 + random.random()))  # noqa: S311 - so that two do not meet again
            pause = min(pause * 2, 0.5)

    async def _prepared(self, mine: _Loop, connection: Connection) -> None:
        async with mine.ready:
            if not mine.prepared:
                await self.prepare(connection)
                mine.prepared = True

    def _mine(self) -> _Loop:
        if self._closed:
            raise SessionError(f"the session store {self.name} is closed")
        if self._pid != os.getpid():  # a forked child must not touch its parent's connections
            self._pid = os.getpid()
            self._loops = weakref.WeakKeyDictionary()
            self._leases.forget()
        loop = asyncio.get_running_loop()
        mine = self._loops.get(loop)
        if mine is None:
            mine = self._loops[loop] = _Loop(self.make_pool())
        return mine

    async def _beat(self, mine: _Loop) -> None:
        """Prolong what this process holds while its runs store nothing."""
        try:
            while (seconds := self._leases.interval) is not None:
                await asyncio.sleep(seconds)
                for lease in self._leases.lasting():
                    asked = elapsed()
                    with suppress(SessionError):
                        if await self._written(kept(lease), None):
                            lease.renewed(asked)
        finally:
            mine.pulse = None


async def driven(connection: Connection, steps: Steps[T]) -> T:
    """The result of a read or a write."""
    try:
        query = next(steps)
        while True:
            query = steps.send(await connection.run(query))
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
