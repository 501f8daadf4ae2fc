"""The store of a simulated server: newel's pooled database over connections in virtual time."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from tests.simulation.server import Pending, Server, ServerError, ServerSession
from tests.simulation.world import HELD_UP, Process, World

from newel.sessions.stored.leases import Leases
from newel.sessions.stored.pooled import Connection, Pool, PooledDatabase, Rejected
from newel.sessions.stored.statements import Statements
from newel.sessions.stored.steps import Query, Reply, Trouble
from newel.sessions.stored.time_limits import postgres_limits, postgres_own_limits

_PASSING = ("deadlock", "lock timeout", "canceled", "closed", "idle", "cut", "failed")


class Network:
    """How long messages take between the processes and the server."""

    def __init__(self, world: World, server: Server) -> None:
        self.world = world
        self.server = server
        #: The next answer is lost, or comes so late.
        self.cuts = 0
        self.late_answer = 0.0

    def delay(self) -> float:
        world = self.world
        seconds = 0.002 * world.random.random()
        if self.server.silent_until > world.now:
            seconds += self.server.silent_until - world.now
        return seconds


class SimConnection(Connection):
    """A connection of a process: each request goes to the server and comes back."""

    def __init__(self, network: Network, process: Process, patience: float) -> None:
        self._network = network
        self._world = network.world
        self._process = process
        self._patience = patience
        self.session = ServerSession(network.server, _in_seconds(postgres_limits(patience)))
        self.is_terminated = self._is_served = False
        process.on_death.append(self.session.close)

    async def run(self, query: Query) -> Reply:
        answer = await self._request(lambda reply: Pending(self.session, query, reply))
        if isinstance(answer, ServerError):
            raise _translated(answer)
        return answer  # type: ignore[no-any-return]

    async def _request(self, act: Callable[[Callable[[Any], object]], object]) -> Any:
        """What the server answers to `act`, which is called when the request arrives."""
        if self.is_closed:
            raise Trouble("the connection is closed")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        reply = partial(self._reply, loop, future)

        def arrive() -> None:
            if self.is_closed:
                reply(ServerError("closed"))
            else:
                self._is_served = True
                act(reply)

        self._is_served = False
        self._world.after(self._network.delay(), arrive)
        try:
            return await future
        except asyncio.CancelledError:
            self.is_terminated = True
            self.session.is_abandoned = True
            if not self._is_served:
                self.session.close()
            raise

    def _reply(self, loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], answer: Any) -> None:
        """Send an answer, which may be late, or lost with the connection."""
        world, network = self._world, self._network
        late, network.late_answer = network.late_answer, 0.0
        if late:
            world.troubles.add(world.now, world.now + late, self._process, HELD_UP)
        if network.cuts and not self._process.is_dead:
            network.cuts -= 1
            self.session.close()
            answer = ServerError("cut")

        def settle() -> None:
            if not future.done():
                future.set_result(answer)

        def deliver() -> None:
            if not self._process.is_dead and not loop.is_closed():
                loop.call_soon_threadsafe(settle)

        world.after(network.delay() + late, deliver)

    @property
    def is_closed(self) -> bool:
        return self.is_terminated or self.session.is_closed or self._process.is_dead

    @asynccontextmanager
    async def transaction(self, shortest_lease: float = math.inf) -> AsyncIterator[None]:
        own = _in_seconds(postgres_own_limits(shortest_lease, self._patience))
        await self._simple(partial(self.session.begin, own))
        try:
            yield
        except BaseException:
            if not self.is_closed:
                await self._simple(lambda: self.session.end(commits=False))
            raise
        await self._simple(lambda: self.session.end(commits=True))

    async def _simple(self, act: Callable[[], object]) -> None:
        def acted(reply: Callable[[Any], object]) -> None:
            try:
                act()
            except ServerError as error:
                reply(error)
            else:
                reply(None)

        answer = await self._request(acted)
        if isinstance(answer, ServerError):
            raise _translated(answer)


def _in_seconds(limits: dict[str, str]) -> dict[str, float]:
    return {name: int(value) / 1000 for name, value in limits.items()}


def _translated(error: ServerError) -> Exception:
    text = str(error)
    return Trouble(text) if any(word in text for word in _PASSING) else Rejected(text)


class SimPool(Pool):
    """At most so many connections, made when they are needed."""

    def __init__(self, network: Network, process: Process, size: int, patience: float) -> None:
        self._make = lambda: SimConnection(network, process, patience)
        self._free: list[SimConnection] = []
        self._places = asyncio.Semaphore(size)
        self._patience = patience

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        try:
            async with asyncio.timeout(self._patience):
                await self._places.acquire()
        except TimeoutError as error:
            raise Trouble("no connection is free") from error
        try:
            connection = self._free.pop() if self._free else self._make()
            yield connection
        finally:
            self._places.release()
            if not connection.is_closed:
                self._free.append(connection)

    async def close(self) -> None:
        for connection in self._free:
            connection.session.close()


class SimServerDatabase(PooledDatabase):
    """The database of one process."""

    one_statement_commits = True

    def __init__(self, network: Network, statements: Statements, leases: Leases, *, patience: float, size: int) -> None:
        self._network, self._size, self.writers = network, size, size
        self._process = network.world.thread.process
        super().__init__("'simulated'", statements, leases, patience=patience)

    def make_pool(self) -> Pool:
        return SimPool(self._network, self._process, self._size, self._patience)

    async def prepare(self, connection: Connection) -> None:
        """The tables exist."""
