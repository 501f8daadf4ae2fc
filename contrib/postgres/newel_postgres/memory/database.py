"""MemoryDatabase: runs work on a memory's tables, one transaction each, and retries while the server is unreachable."""

from __future__ import annotations

import asyncio
import random
from typing import TypeVar

from newel.connections import PerLoop
from newel.memory import MemoryStoreError, MemoryUnavailableError
from newel.sessions.stored import clockwork
from newel.sessions.stored.pooled import Connection, Rejected, driven
from newel.sessions.stored.steps import Query, Steps, Trouble
from newel_kernel import ConfigurationError
from newel_postgres.access import Access
from newel_postgres.database import PostgresPool
from newel_postgres.memory.tables import VERSION, Tables
from newel_postgres.memory.work import Work

T = TypeVar("T")
#: The advisory lock by which processes take turns at making the tables.
_LOCK = 0x6D6D7279


class MemoryDatabase:
    """The tables of a memory behind a bounded pool of connections for each event loop."""

    def __init__(self, access: Access, *, vectors: bool) -> None:
        self._access = access
        self._vectors = vectors
        self._tables = Tables(access.schema, access.shown)
        self._pools = PerLoop(lambda: PostgresPool(access), PostgresPool.close, patience=access.patience + 5)
        self._ready = False
        self._closed = False

    async def run(self, work: Work[T]) -> T:
        """Do `work` as a whole or not at all; return its result."""
        end, pause = clockwork.elapsed() + self._access.patience, 0.01
        while True:
            try:
                return await self._attempt(work)
            except Trouble as trouble:
                if clockwork.elapsed() + pause > end:
                    raise MemoryUnavailableError(
                        f"the memory {self._access.shown} could not be reached for {self._access.patience:g} seconds "
                        f"({trouble}): see whether it runs, then try again"
                    ) from trouble
            except Rejected as error:
                raise MemoryStoreError(str(error)) from error
            await asyncio.sleep(pause * (0.5 + random.random()))  # noqa: S311 - so that two do not collide again
            pause = min(pause * 2, 0.5)

    async def _attempt(self, work: Work[T]) -> T:
        async with self._pool().connection() as connection:
            if not self._ready:
                await self._prepared(connection)
            async with connection.transaction():
                return await driven(connection, work.steps(self._tables))

    async def _prepared(self, connection: Connection) -> None:
        async with connection.transaction():
            if not await driven(connection, self._is_complete()):
                await connection.run(Query("SELECT pg_advisory_xact_lock(?1)", (_LOCK,)))
                if self._vectors:
                    await self._extended(connection)
                await driven(connection, self._make())
        self._ready = True

    def _is_complete(self) -> Steps[bool]:
        """Whether everything that this memory needs exists."""
        if (yield from self._tables.version()) != VERSION:
            return False
        return not self._vectors or ((yield from self._tables.extended()) and (yield from self._tables.with_vectors()))

    def _make(self) -> Steps[None]:
        yield from self._tables.make()
        if self._vectors:
            yield from self._tables.make_vectors()

    async def _extended(self, connection: Connection) -> None:
        """Find pgvector, or create the extension."""
        if await driven(connection, self._tables.extended()):
            return
        try:
            await connection.run(Query("CREATE EXTENSION vector"))
        except (ConfigurationError, Rejected) as error:
            reason = str(error.__cause__).partition("\n")[0]
            raise ConfigurationError(
                f"the memory {self._access.shown} needs the extension pgvector for an embedder, which the database "
                f"does not have ({reason}): install pgvector on the server and have an administrator run "
                f"CREATE EXTENSION vector in the database, or leave the embedder out; nothing was written"
            ) from error
        await driven(connection, self._tables.extended())

    def _pool(self) -> PostgresPool:
        if self._closed:
            raise MemoryStoreError(f"the memory {self._access.shown} is closed")
        return self._pools.get()

    async def close(self) -> None:
        """Close the connections; the database cannot be used afterwards."""
        self._closed = True
        await self._pools.close()
