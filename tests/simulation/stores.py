"""Places: a file and a server as the owners of a simulation share them."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from tests.simulation.file_store import Disk, SimDatabase
from tests.simulation.memory_store import MemoryOwner, MemoryPromise, preempting
from tests.simulation.owner import Owner
from tests.simulation.promise import Held, Promise
from tests.simulation.server import LockKey, Server, Transaction
from tests.simulation.server_store import Network, SimServerDatabase
from tests.simulation.world import SHARED, STORE, World, row_trouble

from newel.sessions.sqlite import SqliteSessionService
from newel.sessions.stored.dialects import POSTGRES
from newel.sessions.stored.leases import Leases
from newel.sessions.stored.service import StoredSessionService
from newel.sessions.stored.statements import Statements

#: So many sessions are in use at a time, each until it has so many events.
_SESSIONS, _MOST_EVENTS = 4, 60


class Place:
    """Where sessions are stored, and the faults that it has."""

    patience = 15.0
    #: Whether a process that stands still may keep a lock, so that others wait in vain.
    peers_hold_up = True
    #: Whether writers of shared state that write at the same time could wait for each other.
    could_wait_in_rings = False
    #: Until when the owners write more than at other times.
    crowded_until = 0.0
    #: How long things take here, compared with others.
    pace = 1.0
    owner: type[Owner] | type[MemoryOwner] = Owner

    def __init__(self, world: World) -> None:
        self.world = world
        self.promise = Promise(world, self.held, self.events)
        self._serial = 0
        self._names = [self._new_name() for _ in range(_SESSIONS)]

    def _new_name(self) -> str:
        self._serial += 1
        return f"s{self._serial}"

    def session_id(self) -> str:
        """One of the sessions in use; one that has grown long is left behind."""
        return self.world.random.choice(self._names)

    def turn_over(self) -> None:
        """Check the logs, and leave long ones behind."""
        self.promise.check_events()
        sizes = self.sizes()
        for place, name in enumerate(self._names):
            if sizes.get(name, 0) > _MOST_EVENTS:
                self._names[place] = self._new_name()

    def held(self) -> Iterable[Held]:
        raise NotImplementedError

    def events(self, number: int, first: int) -> list[str]:
        raise NotImplementedError

    def sizes(self) -> dict[str, int]:
        raise NotImplementedError

    def open_service(self) -> StoredSessionService:
        """A service of the process that runs."""
        raise NotImplementedError

    def faults(self) -> list[Any]:
        """What may go wrong here: calls of no arguments."""
        raise NotImplementedError

    def threads(self) -> AbstractContextManager[object]:
        """How threads take turns, apart from their waits."""
        return nullcontext()

    def close(self) -> None:
        """Delete it."""


class FilePlace(Place):
    """An SQLite file."""

    def __init__(self, world: World) -> None:
        shm = Path("/dev/shm")
        self._folder = tempfile.TemporaryDirectory(dir=shm if shm.is_dir() else None)
        self.path = f"{self._folder.name}/s.db"
        self.disk = SimDatabase.disk = Disk(world)
        self._looking: sqlite3.Connection | None = None
        super().__init__(world)
        self.disk.on_commit = self.promise.committed

    def _look(self) -> sqlite3.Connection:
        if self._looking is None:
            self._looking = sqlite3.connect(self.path, isolation_level=None)
        return self._looking

    def held(self) -> Iterable[Held]:
        numbers = (
            f"SELECT number, lease, owner, version FROM sessions WHERE number > {self._serial - 2 * _SESSIONS - 2}"
        )
        try:
            return [Held(*row) for row in self._look().execute(numbers)]
        except sqlite3.OperationalError:  # there are no tables yet
            return ()

    def events(self, number: int, first: int) -> list[str]:
        query = "SELECT data FROM events WHERE session = ? AND sequence >= ? ORDER BY sequence"
        return [data for (data,) in self._look().execute(query, (number, first))]

    def sizes(self) -> dict[str, int]:
        return dict(self._look().execute("SELECT id, version FROM sessions"))

    def open_service(self) -> StoredSessionService:
        service = SqliteSessionService(self.path, patience=self.patience)
        service._finalizer.detach()
        return service

    def faults(self) -> list[Any]:
        return [self._foreign_lock, self._slow_commit, self._late_answer]

    def _foreign_lock(self) -> None:
        """A program that is none of ours writes for a while."""
        world, lock = self.world, self.disk.lock
        seconds = world.random.choice([0.1, 1.0, 3.0, 10.0, 40.0]) * world.random.random()

        def hold() -> None:
            if lock.holder is not None:
                world.after(0.05 * world.random.random(), hold)
                return
            lock.holder = me
            world.troubles.add(world.now, world.now + seconds, None, STORE)
            world.after(seconds, lambda: lock.release(me))

        me = object()
        hold()

    def _slow_commit(self) -> None:
        seconds = self.world.random.uniform(0.5, 20.0)
        self.disk.slow_commit = seconds

    def _late_answer(self) -> None:
        self.disk.late_answer = self.world.random.uniform(0.5, 20.0)

    def close(self) -> None:
        if self._looking is not None:
            self._looking.close()
        self._folder.cleanup()


class ServerPlace(Place):
    """A PostgreSQL server."""

    peers_hold_up = False
    could_wait_in_rings = True

    def __init__(self, world: World) -> None:
        self.statements = Statements(POSTGRES)
        self.server = Server(world, self.statements)
        self.network = Network(world, self.server)
        super().__init__(world)
        self.server.on_commit = self._committed

    def _committed(self) -> None:
        self.promise.committed()
        if self.server.deadlocks:
            self.world.fail("writes have waited for each other in a ring")

    def held(self) -> Iterable[Held]:
        names = {f"s{n}" for n in range(self._serial - 2 * _SESSIONS, self._serial + 1)}
        return [
            Held(row.number, row.lease, row.owner, row.version)
            for row in self.server.rows.values()
            if row.key[2] in names
        ]

    def events(self, number: int, first: int) -> list[str]:
        return self.server.events[number][first:]

    def sizes(self) -> dict[str, int]:
        return {row.key[2]: row.version for row in self.server.rows.values()}

    def open_service(self) -> StoredSessionService:
        leases = Leases()
        size = self.world.random.randint(1, 4)
        database = SimServerDatabase(self.network, self.statements, leases, patience=self.patience, size=size)
        return StoredSessionService(database, leases)

    def faults(self) -> list[Any]:
        return [self._locked_row, self._silence, self._cut, self._late_answer, self._clock, self._crowd]

    def _crowd(self) -> None:
        """Many write at the same time, also what sessions share."""
        self.crowded_until = self.world.now + self.world.random.expovariate(0.5)

    def _locked_row(self) -> None:
        """A program that is none of ours keeps a row locked, as within a transaction that stands still."""
        world, server = self.world, self.server
        used = sorted(row.number for row in server.rows.values() if row.key[2] in self._names)
        if not used:
            return
        key: LockKey = ("sessions", world.random.choice(used))
        trouble = row_trouble(key[1])
        if world.random.random() < 0.3:
            key, trouble = ("app_state", ("a",), "a"), SHARED
        if key in server.locks:
            return
        foreign = Transaction(session=None)  # type: ignore[arg-type]
        seconds = world.random.choice([0.1, 1.0, 3.0, 10.0, 40.0]) * world.random.random()
        server.locks[key] = foreign
        foreign.locks.add(key)
        world.troubles.add(world.now, world.now + seconds, None, trouble)
        world.after(seconds, lambda: server.free(foreign))

    def _silence(self) -> None:
        """The server, or the network, does not answer."""
        world = self.world
        seconds = world.random.choice([0.1, 1.0, 3.0, 10.0, 40.0]) * world.random.random()
        self.server.silent_until = world.now + seconds
        world.troubles.add(world.now, world.now + seconds, None, STORE)

    def _cut(self) -> None:
        self.network.cuts = 1

    def _late_answer(self) -> None:
        self.network.late_answer = self.world.random.uniform(0.5, 20.0)

    def _clock(self) -> None:
        """The server's clock is corrected a little; a step of half a lease breaks what is promised."""
        self.server.offset += self.world.random.uniform(-0.2, 0.2)


class MemoryPlace(Place):
    """A store in memory for each process, which ends with it."""

    pace = 0.02
    owner = MemoryOwner

    def __init__(self, world: World) -> None:
        self.world = world
        self.promise: MemoryPromise = MemoryPromise(world)

    def turn_over(self) -> None:
        """Check the logs."""
        self.promise.check_events()

    def faults(self) -> list[Any]:
        return []

    def threads(self) -> AbstractContextManager[object]:
        return preempting(self.world)


def place_of(kind: str, world: World) -> Place:
    """A new place."""
    return {"sqlite": FilePlace, "postgres": ServerPlace, "memory": MemoryPlace}[kind](world)
