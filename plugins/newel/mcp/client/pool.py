"""Pool: the sessions of one toolset, in each event loop those of its own; one for each set of headers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Hashable
from contextlib import asynccontextmanager

from newel.connections import PerLoop
from newel.connections.owned import in_loop
from newel.mcp.client.connection import Connection
from newel.mcp.errors import McpUnreachableError
from newel.mcp.settings import Settings


class Pool:
    """Sessions by key: who has the same key shares a session.

    A session that nobody has used for a while ends. Beyond the most sessions, the one that was unused for the longest
    time ends first, and never one in use: who needs another one waits.
    """

    def __init__(self, patience: float = 25.0) -> None:
        self._loops: PerLoop[_LoopPool] = PerLoop(_LoopPool, _LoopPool.close, patience=patience)

    @asynccontextmanager
    async def lease(
        self, key: Hashable, make: Callable[[], Connection], settings: Settings, seconds: float
    ) -> AsyncGenerator[Connection, None]:
        """The session of `key`, kept while it is used; another one is waited for at most `seconds`."""
        pool = self._loops.get()
        connection = pool.take(key, make, settings)
        if connection is None:
            connection = await pool.wait(key, make, settings, seconds)
        try:
            yield connection
        finally:
            pool.give_back(connection)

    def __len__(self) -> int:
        """The number of sessions, in all loops, those that are ending among them."""
        return sum(map(len, self._loops.objects()))

    async def close(self) -> None:
        """End all sessions, in whatever loop they live."""
        pools = self._loops.objects()
        await self._loops.close()
        await asyncio.gather(*(in_loop(pool.loop, pool.close) for pool in pools))


class _LoopPool:
    """The sessions of one loop."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.connections: dict[Hashable, Connection] = {}
        #: Sessions that are ending.
        self._leaving: set[Connection] = set()
        self._freed = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._idle = 0.0

    def __len__(self) -> int:
        return len(self.connections) + len(self._leaving)

    def take(self, key: Hashable, make: Callable[[], Connection], settings: Settings) -> Connection | None:
        """A session to use; None if all that may be are in use, or are ending."""
        connection = self.connections.get(key)
        if connection is not None and connection.ended:
            self._leave(key)
            connection = None
        if connection is None:
            if len(self) >= settings.max_sessions:
                self._make_room()
                return None
            connection = self.connections[key] = make()
        else:
            self.connections[key] = self.connections.pop(key)  # the latest one is the last
        self._idle = settings.idle_seconds
        connection.users += 1
        return connection

    async def wait(
        self, key: Hashable, make: Callable[[], Connection], settings: Settings, seconds: float
    ) -> Connection:
        """`take`, once there is room for a session."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    self._freed.clear()
                    if (connection := self.take(key, make, settings)) is not None:
                        return connection
                    await self._freed.wait()
        except TimeoutError:
            raise McpUnreachableError(
                f"all {settings.max_sessions} sessions of the toolset are in use (settings: mcp.max_sessions), and "
                f"none was free within {seconds:g} s"
            ) from None

    def give_back(self, connection: Connection) -> None:
        """The session is not used any more."""
        connection.users -= 1
        connection.idle_since = self.loop.time()
        self._freed.set()
        if self._timer is None and self.connections:
            self._timer = self.loop.call_later(self._idle, self._end_idle)

    async def close(self) -> None:
        """End all sessions."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for key in list(self.connections):
            self._leave(key)
        await asyncio.gather(*(connection.close() for connection in self._leaving))

    def _make_room(self) -> None:
        """End the session that was unused for the longest time, unless enough of them are ending."""
        if self._leaving:
            return
        for key, connection in self.connections.items():
            if not connection.users:
                self._leave(key)
                return

    def _leave(self, key: Hashable) -> None:
        connection = self.connections.pop(key)
        connection.retire()
        self._leaving.add(connection)

        def gone() -> None:
            self._leaving.discard(connection)
            self._freed.set()

        connection.when_gone(gone)

    def _end_idle(self) -> None:
        """End the sessions that nobody has used for long enough; look again when the next one may be due."""
        self._timer = None
        now = self.loop.time()
        ends = []
        for key, connection in list(self.connections.items()):
            if connection.users:
                continue
            if (left := connection.idle_since + self._idle - now) <= 0:
                self._leave(key)
            else:
                ends.append(left)
        if ends:
            self._timer = self.loop.call_later(min(ends) + 0.01, self._end_idle)
