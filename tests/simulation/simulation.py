"""Simulation: owners that share a place, and what befalls them, for so many steps of one seed."""

from __future__ import annotations

import gc
import itertools
import random
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from tests.simulation.clock import replacements
from tests.simulation.file_store import SimDatabase
from tests.simulation.memory_store import MemoryOwner
from tests.simulation.owner import Owner
from tests.simulation.stores import Place, place_of
from tests.simulation.world import Process, SimThread, World

from newel.claims.settings import Settings
from newel.sessions.sqlite import renewal, writer
from newel.sessions.sqlite import service as sqlite_service
from newel.sessions.stored import clockwork, committer, keeper, leases, leasing, pooled
from newel.sessions.stored.dialects import SQLITE
from newel.sessions.stored.statements import Statements
from newel_kernel import seam

#: The mean time between two faults, in seconds, and how often the logs are checked.
_FAULT_SECONDS, _CHECK_SECONDS = 3.0, 5.0
#: After so many deaths what is left of the dead is collected.
_DEATHS_PER_COLLECTION = 100


class Simulation:
    """Two to five owners of one place. `only` names faults of the place: nothing else befalls them, but these often."""

    def __init__(self, kind: str, seed: int, only: Collection[str] = ()) -> None:
        self.world = World(seed)
        self._serial = itertools.count(1)
        self._deaths = 0
        self._living: list[Owner | MemoryOwner] = []
        self._kind = kind
        self._only = only
        self.place: Place = place_of(kind, self.world)
        draw = self.world.random
        self._settings = Settings(
            busy=draw.choice(["refuse", "queue", "interrupt"]),
            wait_seconds=2,
            lease_seconds=draw.choice([2.0, 5.0, 10.0]),
        )
        #: Some worlds are calm, and a lease must be kept there.
        self._pause = _FAULT_SECONDS * self.place.pace * draw.choice([0.5, 1.0, 4.0, 15.0])
        if only:
            self._pause = min(self._pause, 1.0)

    def run(self, steps: int) -> None:
        """Run so many steps; raise Broken at a broken promise."""
        with replaced(self.world), self.place.threads():
            try:
                for _ in range(self.world.random.randint(2, 5)):
                    self._add_owner()
                self.world.after(self.place.pace, self._check)
                self.world.after(self.place.pace, self._fault)
                self.world.run(steps)
                self.place.promise.check_events()
                if self.world.broken is not None:
                    raise self.world.broken
            finally:
                for owner in self._living:
                    owner.process.kill()
                self.place.close()
                gc.collect()

    def _add_owner(self, service: Any = None, process: Process | None = None) -> None:
        if process is None:
            machine = "m" if self._kind == "sqlite" else self.world.random.choice("mn")
            process = Process(self.world, f"p{next(self._serial)}", machine)
            self.world.processes.append(process)
        owner = self.place.owner(self.world, self.place.promise, self.place, process, self._settings)
        owner.service = service
        self._living.append(owner)
        owner.start()

    def _check(self) -> None:
        self.place.turn_over()
        self.world.after(_CHECK_SECONDS * self.place.pace, self._check)

    # --- faults ------------------------------------------------------------------------------------------------------

    def _fault(self) -> None:
        draw = self.world.random
        faults = [self._stall, self._stall, self._stall, self._kill, self._fork, self._step_clock, *self.place.faults()]
        if self._only:
            faults = [fault for fault in faults if fault.__name__[1:] in self._only]
        fault = draw.choice(faults)
        if self._living:
            self.place.promise.count(f"fault{fault.__name__}")
            fault()
        self.world.after(draw.expovariate(1 / self._pause), self._fault)

    def _stall(self) -> None:
        draw = self.world.random
        seconds = draw.choice([0.1, 0.5, 1.5, 3.0]) * draw.random() * self._settings.lease_seconds * self.place.pace
        draw.choice(self._living).process.stall(seconds)

    def _kill(self) -> None:
        owner = self.world.random.choice(self._living)
        self._living.remove(owner)
        owner.process.kill()
        self._bury()
        self.world.after(self.place.pace * self.world.random.expovariate(0.5), self._add_owner)

    def _bury(self) -> None:
        self._deaths += 1
        self.world.processes = [process for process in self.world.processes if not process.is_dead]
        if self._deaths % _DEATHS_PER_COLLECTION == 0:
            gc.collect()

    def _step_clock(self) -> None:
        """The time of day is corrected; nothing may depend on it."""
        self.world.wall_offset += self.world.random.choice([-86_400.0, -60.0, 5.0, 60.0, 86_400.0])

    def _fork(self) -> None:
        """A thread of the process forks: the parent goes on, or ends, and the child goes on."""
        owner = self.world.random.choice(self._living)
        if owner.service is None:
            return
        SimThread(lambda: self._forks(owner), name="fork", world=self.world, process=owner.process).start()

    def _forks(self, owner: Owner) -> None:
        items, begin = list(owner.process.forking), self.world.now
        for item in items:
            item.before_fork()
        # Other writes of the process wait for it, so it waits only for a commit that the disk has begun.
        self.place.promise.waited(owner.process, begin, 0.0, "a fork")
        self.world.wait(0.002)
        for item in reversed(items):
            item.after_fork_in_parent()


def is_ended(process: Process | None) -> bool:
    """Whether a process has ended."""
    return process is None or process.is_dead


@contextmanager
def replaced(world: World) -> Iterator[None]:
    """Time, waits, threads, identifiers and processes of the simulation in the place of the real ones."""
    ids = itertools.count(1)

    def new_owner() -> str:
        return f"{world.thread.process.name}/{next(ids)}"

    def is_dead(owner: str) -> bool:
        living = {process.name: process for process in world.processes}
        return is_ended(living.get(owner.partition("/")[0]))

    def watch_forks(item: Any) -> None:
        world.thread.process.forking.append(item)

    new_id: Callable[[], str] = lambda: f"{next(ids):012d}"  # noqa: E731
    statements = Statements(SQLITE)  # made now: a mutant changes its texts
    swaps: list[tuple[Any, dict[str, Any]]] = [
        (clockwork, replacements(world)),
        (seam, {"clock": world.wall, "monotonic": world.elapsed, "new_id": new_id, "new_session_id": new_id}),
        (leases, {"new_owner": new_owner}),
        (leasing, {"is_dead": is_dead}),
        (keeper, {"watch_forks": watch_forks}),
        (writer, {"watch_forks": watch_forks}),
        (pooled, {"random": SimpleNamespace(random=random.Random(world.seed).random)}),
        (committer, {"random": SimpleNamespace(random=random.Random(world.seed + 1).random)}),
        (sqlite_service, {"SqliteDatabase": SimDatabase, "STATEMENTS": statements}),
        (writer, {"STATEMENTS": statements}),
        (renewal, {"STATEMENTS": statements}),
        (sys, {"unraisablehook": lambda _: None}),  # what the dead do on the way out
    ]
    was_collecting = gc.isenabled()
    gc.disable()
    patches = [patch.multiple(module, **names) for module, names in swaps]
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in reversed(patches):
            one.stop()
        if was_collecting:
            gc.enable()
