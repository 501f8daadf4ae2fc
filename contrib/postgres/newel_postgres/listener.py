"""PostgresListener: one connection of a process that hears which sessions others have changed.

It holds a shared advisory lock for each session that somebody here follows. An append finds it, and has the change
told after its commit; where nobody follows, nothing is told. An append that is under way has the lock alone, so that
whoever looks at the log once this one has it misses nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import asyncpg

from newel.connections import PerLoop
from newel.sessions.stored.dialects import CHANGES, FOLLOWED_CLASS, FOLLOWED_SLOTS
from newel_kernel import seam
from newel_postgres.access import Access, configure, server_settings

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

_LOCK = "SELECT pg_advisory_lock_shared($1, slot) FROM unnest(CAST($2 AS integer[])) AS wanted (slot)"
_UNLOCK = "SELECT pg_advisory_unlock_shared($1, slot) FROM unnest(CAST($2 AS integer[])) AS wanted (slot)"
_TABLE = "SELECT CAST(CAST(CAST($1 AS text) AS regclass) AS oid)"
#: How often the connection is checked, and for how long it stays when nobody follows a session, in seconds.
_CHECKED = 15.0
#: How long to wait before the second attempt to connect, and before any, in seconds.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 30.0


class PostgresListener:
    """See `Listener`: `wake` is called with the number of each session in `table` that has changed."""

    def __init__(self, access: Access, table: str, wake: Callable[[int], object]) -> None:
        self._loops = PerLoop(lambda: _Ear(access, table, wake), _Ear.close)

    @contextmanager
    def listening(self, number: int) -> Iterator[Callable[[], bool]]:
        """See `Listener`."""
        with self._loops.get().listening(number) as is_told:
            yield is_told

    async def close(self) -> None:
        """See `Listener`."""
        await self._loops.close()


class _Ear:
    """The connection of one event loop."""

    def __init__(self, access: Access, table: str, wake: Callable[[int], object]) -> None:
        self._access = access
        self._table = table
        self._wake = wake
        #: How many follow each session.
        self._followed: Counter[int] = Counter()
        #: The slots whose locks the connection has.
        self._locked: set[int] = set()
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._prefix = ""

    @contextmanager
    def listening(self, number: int) -> Iterator[Callable[[], bool]]:
        slot = number % FOLLOWED_SLOTS
        self._followed[number] += 1
        self._changed.set()
        if self._task is None or self._task.done():
            self._task = seam.spawn(self._run(), name="changes of sessions")
        try:
            yield lambda: slot in self._locked
        finally:
            self._followed[number] -= 1
            if not self._followed[number]:
                del self._followed[number]

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        """Listen, and connect again whenever the connection is lost, until nobody follows a session."""
        pause = _FIRST_PAUSE
        while self._followed:
            with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError):
                async with self._connected() as connection:
                    pause = _FIRST_PAUSE
                    await self._listen(connection)
            if self._followed:  # they look for themselves meanwhile
                self._wake_all(set(range(FOLLOWED_SLOTS)))
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[asyncpg.Connection]:
        access = self._access
        seconds = access.connect_seconds
        connection = await asyncpg.connect(
            access.url, timeout=seconds, command_timeout=access.patience, server_settings=server_settings(access)
        )
        try:
            configure(connection, access)
            connection.add_termination_listener(lambda _: self._changed.set())
            await connection.add_listener(CHANGES, self._heard)
            self._prefix = f"{await connection.fetchval(_TABLE, self._table)}:"
            yield connection
        finally:
            self._locked.clear()
            with suppress(asyncpg.InterfaceError, OSError, TimeoutError):
                await connection.close(timeout=1)

    async def _listen(self, connection: asyncpg.Connection) -> None:
        """Have the locks of all sessions that are followed, until nobody follows one; raises if it is lost."""
        next_check = seam.monotonic() + _CHECKED
        while True:
            self._changed.clear()
            if missing := self._wanted() - self._locked:
                await connection.fetch(_LOCK, FOLLOWED_CLASS, [*missing])
                self._locked |= missing
                self._wake_all(missing)  # what came before is not told
            if connection.is_closed():
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(next_check - seam.monotonic()):
                    await self._changed.wait()
            if seam.monotonic() >= next_check:  # also when there are new followers all the time
                if not self._followed:
                    return
                await self._check(connection)
                next_check = seam.monotonic() + _CHECKED

    async def _check(self, connection: asyncpg.Connection) -> None:
        """Let go of the locks that nobody needs; that also shows whether the server is there."""
        unused = self._locked - self._wanted()
        self._locked -= unused
        await connection.fetch(_UNLOCK, FOLLOWED_CLASS, [*unused])

    def _wanted(self) -> set[int]:
        return {number % FOLLOWED_SLOTS for number in self._followed}

    def _wake_all(self, slots: set[int]) -> None:
        for number in [*self._followed]:
            if number % FOLLOWED_SLOTS in slots:
                self._wake(number)

    def _heard(self, connection: asyncpg.Connection | PoolConnectionProxy, pid: int, channel: str, text: Any) -> None:
        """Wake those who follow a session; anybody may tell anything, so it only has them look."""
        number = str(text).removeprefix(self._prefix)
        if number != text and number.isdigit() and len(number) < 20:
            self._wake(int(number))
