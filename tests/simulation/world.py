"""World: virtual time, and the threads of simulated processes, of which exactly one runs until it next waits.

A thread is a greenlet, so the stores' code runs as it is. Everything random comes from one seed.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
from collections.abc import Callable
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet

#: The usual delay until a thread that is woken runs, in seconds, and the longest that counts as usual.
_SOON, _BUSY = 0.00005, 0.005


def row_trouble(number: int) -> str:
    """The kind of a trouble that only one session has: its row is locked."""
    return f"row {number}"


class Broken(Exception):
    """A promise is broken."""


class Process:
    """A simulated process: its threads, and what holds it up."""

    def __init__(self, world: World, name: str, machine: str) -> None:
        self.world = world
        self.name = name
        self.machine = machine
        self.is_dead = False
        self.stalled_until = 0.0
        self.threads: dict[SimThread, None] = {}  # in an order that depends on the seed alone
        #: What must be at rest while the process forks.
        self.forking: list[Any] = []
        #: Called when it dies: what the system does for a dead process.
        self.on_death: list[Callable[[], object]] = []

    def stall(self, seconds: float) -> None:
        """Let it stand still, as after SIGSTOP."""
        self.stalled_until = max(self.stalled_until, self.world.now + seconds)
        self.world.troubles.add(self.world.now, self.stalled_until, self, STALL)

    def kill(self) -> None:
        """End it between two steps."""
        self.is_dead = True
        for clean in self.on_death:
            clean()
        for thread in list(self.threads):
            thread.end()


class SimThread:
    """A thread of a process, with as much of `threading.Thread` as the stores use."""

    def __init__(
        self,
        target: Callable[[], object],
        name: str = "",
        daemon: bool = True,
        world: World | None = None,
        process: Process | None = None,
    ) -> None:
        self.world = world or World.current
        self.process = process or self.world.thread.process
        self.name = name
        self.is_over = False
        #: Counts the waits: what would end an earlier one is ignored.
        self.wait_number = 0
        self.loop: asyncio.AbstractEventLoop | None = None
        self._joining: list[SimThread] = []
        self._target = target
        self._greenlet = greenlet(self._run, self.world.hub)

    def start(self) -> None:
        """Let it run, soon."""
        self.process.threads[self] = None
        self.world.wake(self)

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""
        while not self.is_over and not self.process.is_dead:
            self._joining.append(self.world.thread)
            self.world.wait(timeout)

    def _run(self) -> None:
        try:
            self._target()
        except GreenletExit:
            if not self.process.is_dead:
                raise
        except Exception as error:
            if not self.process.is_dead:
                self.world.fail(f"the thread {self.name} of {self.process.name} died: {error!r}", error)
        finally:
            self.is_over = True
            self.process.threads.pop(self, None)
            for thread in self._joining:
                self.world.wake(thread)

    def end(self) -> None:
        """Take it away; what its code does on the way out reaches nothing."""
        if self._greenlet and not self.is_over:
            self.resume(GreenletExit)
        self.is_over = True
        self.process.threads.pop(self, None)

    def resume(self, error: type[BaseException] | None = None) -> None:
        """Run it until it waits; called by the hub."""
        world = self.world
        world.thread = self
        asyncio._set_running_loop(self.loop)
        if error is not None:
            self._greenlet.throw(error)
        else:
            self._greenlet.switch()
        self.loop = asyncio._get_running_loop()
        asyncio._set_running_loop(None)
        world.thread = world.idle


#: A process stands still; a tool blocks its event loop; a commit or its answer takes long; the store cannot be used;
#: a row of state that sessions share is locked.
STALL, LOOP, HELD_UP, STORE, SHARED = "stall", "loop", "held up", "store", "shared"


class Troubles:
    """What went wrong on purpose lately: intervals of a kind, each of one process or (None) of all."""

    def __init__(self) -> None:
        self._intervals: list[tuple[float, float, Process | None, str]] = []

    def add(self, begin: float, end: float, process: Process | None, kind: str) -> None:
        """Note an interval."""
        self._intervals.append((begin, end, process, kind))
        del self._intervals[:-400]

    def within(self, begin: float, end: float, process: Process | None, *kinds: str) -> float:
        """How many seconds of trouble of some kinds the process (None: any) had from `begin` to `end`."""
        return sum(
            max(0.0, min(end, last) - max(begin, first))
            for first, last, owner, kind in self._intervals
            if kind in kinds and (owner is None or process is None or owner is process)
        )


class World:
    """Virtual time and who runs."""

    current: World

    def __init__(self, seed: int) -> None:
        World.current = self
        self.random = random.Random(seed)
        self.seed = seed
        self.now = 1000.0
        self.wall_offset = 1_700_000_000.0
        self.steps = 0
        self.hub = getcurrent()
        self.troubles = Troubles()
        self.processes: list[Process] = []
        self._heap: list[tuple[float, int, SimThread | Callable[[], object], int]] = []
        self._sequence = 0
        #: Stands for the hub, whose code belongs to no process.
        self.idle = SimThread.__new__(SimThread)
        self.idle.world, self.idle.process = self, Process(self, "hub", "")
        self.thread = self.idle
        self.broken: Broken | None = None
        #: Numbers for names.
        self.names = itertools.count(1)

    def elapsed(self) -> float:
        """The clock of leases."""
        return self.now

    def wall(self) -> float:
        """The time of day, which steps."""
        return self.now + self.wall_offset

    def fail(self, what: str, cause: BaseException | None = None) -> None:
        """Note the first broken promise; the simulation ends there."""
        if self.broken is None:
            self.broken = Broken(f"{what} (seed {self.seed}, step {self.steps}, at {self.now:.3f})")
            self.broken.__cause__ = cause

    def at(self, time: float, call: Callable[[], object]) -> None:
        """Call `call` at `time`, in no process."""
        self._sequence += 1
        heapq.heappush(self._heap, (time, self._sequence, call, 0))

    def after(self, seconds: float, call: Callable[[], object]) -> None:
        """Call `call` in so many seconds."""
        self.at(self.now + seconds, call)

    def wake(self, thread: SimThread) -> None:
        """Let a thread that waits go on; a scheduler is not exact."""
        draw = self.random.random()
        delay = _SOON * draw if draw < 0.98 else _BUSY * self.random.random()
        self._sequence += 1
        heapq.heappush(self._heap, (self.now + delay, self._sequence, thread, thread.wait_number))

    def wait(self, seconds: float | None = None) -> None:
        """Let others run until this thread is woken, or so many seconds are over."""
        thread = self.thread
        if thread.process.is_dead:
            raise GreenletExit
        thread.wait_number += 1
        if seconds is not None:
            self._sequence += 1
            heapq.heappush(self._heap, (self.now + max(seconds, 0.0), self._sequence, thread, thread.wait_number))
        self.hub.switch()
        thread.wait_number += 1
        if thread.process.is_dead:
            raise GreenletExit

    def run(self, steps: int) -> None:
        """Run so many steps more; raise Broken at the first broken promise."""
        end = self.steps + steps
        heap = self._heap
        while self.steps < end and self.broken is None:
            time, _, item, number = heapq.heappop(heap)
            if time > self.now:
                self.now = time
            if not isinstance(item, SimThread):
                self.steps += 1
                item()
                continue
            if item.wait_number != number or item.is_over:
                continue
            until = item.process.stalled_until
            if until > self.now:
                self._sequence += 1
                heapq.heappush(heap, (until + _SOON * self.random.random(), self._sequence, item, number))
                continue
            self.steps += 1
            item.resume()
        if self.broken is not None:
            raise self.broken
