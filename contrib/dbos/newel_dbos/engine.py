"""DbosEngine: runs over the queues of DBOS, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from newel.engines import BaseEngine, EngineWorker, InvocationSpec, RunRecord, RunState, Work, check_spec
from newel.engines.places import Place
from newel_dbos import orders
from newel_dbos.access import access_of
from newel_dbos.book import Book
from newel_dbos.worker import DbosWorker


class DbosEngine(BaseEngine):
    """Runs over DBOS, in the database of `uri` (``dbos://user:password@host:port/database``).

    ``heartbeat`` (30), ``poll`` (1), ``misfit`` (a day), ``keep`` (30 days) and ``schema`` (newel_dbos) are the URI's
    own parameters, the times in seconds; the others are libpq's. All machines use the same, and the database's clock.
    """

    def __init__(self, uri: str) -> None:
        self._access = access_of(uri)
        self._book: Book | None = None

    async def _opened(self) -> Book:
        if self._book is None:
            self._book = Book(self._access, connections=1)
        await self._book.ready()
        return self._book

    async def submit(self, spec: InvocationSpec) -> RunRecord:
        """See `BaseEngine`."""
        check_spec(spec)
        return await (await self._opened()).write(orders.submit, spec)

    async def signal(self, key: str, *, seconds: float = 0.0) -> None:
        """See `BaseEngine`."""
        await (await self._opened()).write(orders.signal, key, seconds)

    async def cancel(self, key: str) -> None:
        """See `BaseEngine`."""
        await (await self._opened()).write(orders.cancel, key)

    async def retry(self, key: str) -> None:
        """See `BaseEngine`."""
        await (await self._opened()).write(orders.retry, key)

    async def record(self, key: str) -> RunRecord | None:
        """See `BaseEngine`."""
        return await (await self._opened()).write(orders.one, key)

    async def records(
        self,
        *,
        app_name: str | None = None,
        state: RunState | None = None,
        session: Place | None = None,
        most: int = 100,
    ) -> Sequence[RunRecord]:
        """See `BaseEngine`."""
        return await (await self._opened()).write(orders.several, app_name, state, session, most)

    def worker(self, work: Work, queues: Sequence[str], *, concurrency: int = 10, name: str = "") -> EngineWorker:
        """See `BaseEngine`. All workers of a process are of one engine's database, and of one event loop."""
        return DbosWorker(self._access, work, queues, concurrency, name)

    async def close(self) -> None:
        """See `BaseEngine`."""
        book, self._book = self._book, None
        if book is not None:
            await book.thread(book.engine.dispose)
            book.close()
