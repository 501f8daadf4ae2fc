"""An SQLite file in the simulation: real SQLite, with its one lock for writers and its commits in virtual time."""

from __future__ import annotations

import sqlite3
from typing import Any

from tests.simulation.world import HELD_UP, STORE, Process, World

from newel.sessions.sqlite.database import SqliteDatabase


class FileLock:
    """The lock of the file's writers. It is not fair: those who wait ask again and again, as SQLite does."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.holder: object = None

    def acquire(self, who: object, seconds: float) -> None:
        """Take it, or raise what SQLite raises after so many seconds."""
        world, pause = self.world, 0.001
        end = world.now + seconds
        while self.holder is not None:
            if world.now >= end:
                raise sqlite3.OperationalError("database is locked")
            world.wait(min(pause * (0.5 + world.random.random()), end - world.now))
            pause = min(pause * 2, 0.1)
        self.holder = who

    def release(self, who: object) -> None:
        """Give it back, if it is `who`'s."""
        if self.holder is who:
            self.holder = None


class Disk:
    """How long commits take, and what is told of each."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.lock = FileLock(world)
        #: The next commit takes so long, or its answer comes so late.
        self.slow_commit = 0.0
        self.late_answer = 0.0
        self.on_commit: Any = lambda: None

    def commit_seconds(self) -> float:
        seconds, self.slow_commit = self.slow_commit, 0.0
        return seconds or 0.003 * self.world.random.random()

    def answer_seconds(self) -> float:
        seconds, self.late_answer = self.late_answer, 0.0
        return seconds


class SimConnection:
    """A connection of a simulated process."""

    def __init__(self, connection: sqlite3.Connection, disk: Disk, seconds: float) -> None:
        self._connection = connection
        self._disk = disk
        self._world = disk.world
        self._seconds = seconds
        self._process: Process = disk.world.thread.process
        self._process.on_death.append(self.die)

    def execute(self, sql: str, values: Any = ()) -> Any:
        world = self._world
        if self._process.is_dead:
            return world.wait()  # which ends the thread
        if sql == "BEGIN IMMEDIATE":
            self._disk.lock.acquire(self, self._seconds)
        elif sql == "COMMIT":
            return self._commit()
        elif sql == "ROLLBACK":
            self._disk.lock.release(self)
        elif sql.startswith("PRAGMA busy_timeout"):
            self._seconds = int(sql.partition("= ")[2]) / 1000
            return None
        else:
            world.wait(0.0001 * world.random.random())
        return self._connection.execute(sql, values)

    def _commit(self) -> None:
        world, disk = self._world, self._disk
        seconds = disk.commit_seconds()
        if seconds > 0.1:
            world.troubles.add(world.now, world.now + seconds, None, STORE)
            world.troubles.add(world.now, world.now + seconds, self._process, HELD_UP)
        world.wait(seconds)
        self._connection.execute("COMMIT")
        disk.lock.release(self)
        disk.on_commit()
        if late := disk.answer_seconds():
            world.troubles.add(world.now, world.now + late, self._process, HELD_UP)
            world.wait(late)

    def create_function(self, *args: Any) -> None:
        self._connection.create_function(*args)

    def close(self) -> None:
        if not self._process.is_dead:
            self._process.on_death.remove(self.die)
            self._disk.lock.release(self)
            self._connection.close()

    def die(self) -> None:
        """What the system does for a process that died: its locks are gone."""
        self._disk.lock.release(self)
        self._connection.close()


class SimDatabase(SqliteDatabase):
    """The file, as a simulated process opens it."""

    disk: Disk

    def connect(self, seconds: float | None = None) -> sqlite3.Connection:
        connection = super().connect(0)
        return SimConnection(connection, self.disk, self.patience if seconds is None else seconds)  # type: ignore[return-value]
