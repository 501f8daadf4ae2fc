"""SqliteSessionService: sessions in one SQLite file."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from newel.sessions.sqlite.database import PATIENCE, STATEMENTS, SqliteDatabase, run
from newel.sessions.sqlite.renewal import SqliteRenewal
from newel.sessions.sqlite.upkeep import backup, vacuum
from newel.sessions.sqlite.writer import SqliteWriter
from newel.sessions.stored.changes import Listener
from newel.sessions.stored.keeper import Keeper
from newel.sessions.stored.leases import Leases
from newel.sessions.stored.service import StoredSessionService
from newel.sessions.stored.steps import Read, Write

T = TypeVar("T")


class SqliteFile:
    """The file as a `Database`: reads happen at once, in microseconds, and writes in the writer's thread."""

    def __init__(
        self, path: str | os.PathLike[str], leases: Leases, patience: float = PATIENCE, read_only: bool = False
    ) -> None:
        self.file = SqliteDatabase(path, patience, read_only)
        self.writer = SqliteWriter(self.file)
        self.keeper = Keeper(leases, SqliteRenewal(self.file))

    async def read(self, question: Read[T]) -> T:
        """See `Database`."""
        return await asyncio.to_thread(self._read, question) if question.many else self._read(question)

    def _read(self, question: Read[T]) -> T:
        with self.file.reading() as connection:
            return run(connection, question.steps(STATEMENTS))

    def commit(self, write: Write[T], then: Callable[[T], object] | None = None) -> Coroutine[Any, Any, T]:
        """See `Database`."""
        return self.writer.commit(write, then)

    async def vacuum(self) -> None:
        """See `Database`. The file is locked meanwhile: writers wait."""
        await asyncio.to_thread(vacuum, self.file)

    async def backup(self, target: str) -> None:
        """See `Database`."""
        await asyncio.to_thread(backup, self.file, target)

    def send(self, write: Write[object]) -> None:
        """Commit it with the next write, or a moment later at the latest."""
        self.writer.send(write)

    def listener(self, wake: Callable[[int], object]) -> Listener | None:
        """See `Database`. A file tells nobody: those in other processes look at it."""
        return None

    async def close(self) -> None:
        """See `Database`."""
        await asyncio.to_thread(self.end)

    def end(self) -> None:
        """Commit what is waiting, end the threads and close the file."""
        self.keeper.close()
        self.writer.close()


class SqliteSessionService(StoredSessionService):
    """Sessions in the file `db_path`: a path, ``sqlite:///relative``, ``sqlite:////absolute`` or ``:memory:``.

    Several processes may use one file. A write waits for another process's `patience` seconds, and raises
    StoreUnavailableError then. With `read_only` the file must exist, and is neither migrated nor written.
    """

    def __init__(
        self,
        db_path: str | os.PathLike[str],
        *,
        live_sessions: int | None = None,
        patience: float = PATIENCE,
        read_only: bool = False,
    ) -> None:
        leases = Leases()
        file = SqliteFile(db_path, leases, patience, read_only)
        super().__init__(file, leases, live_sessions=live_sessions)
        # Also at exit, and if close() is never called.
        self._finalizer = weakref.finalize(self, file.end)
