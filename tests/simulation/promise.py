"""Promise: the model of what is promised, and what the runs of the simulation did."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tests.simulation.world import HELD_UP, LOOP, SHARED, STALL, STORE, Process, World, row_trouble

from newel.sessions.stored.leases import Lease
from newel_kernel import Session

#: What a write may wait longer than its patience, in seconds.
ALLOWANCE = 2.0
#: A lease may be lost if trouble took this part of its seconds.
_CAUSE = 0.15
#: A lease that was granted when its time was over is renewed or lost within this part of its seconds.
_LAST_CHANCE = 0.1


class Held(NamedTuple):
    """The lease of a session, as the store has it."""

    number: int
    epoch: int
    owner: str | None
    version: int


@dataclass(eq=False)
class Run:
    """A run of a session."""

    name: str
    process: Process
    view: Session | None = None
    lease: Lease | None = None
    #: When it heard of its lease.
    granted_at: float = 0.0
    is_over: bool = False


class Promise:
    """Checks each commit, effect and wait against what is promised."""

    def __init__(
        self, world: World, held: Callable[[], Iterable[Held]], events: Callable[[int, int], list[str]]
    ) -> None:
        self.world = world
        self._held = held
        self._events = events
        self._last: dict[int, Held] = {}
        #: Session -> the names of the events stored so far; (session, epoch) -> the run that has the lease.
        self._stored: dict[int, list[str]] = {}
        self._runs: dict[tuple[int, int], Run] = {}
        #: Run -> the lease that it holds.
        self._epochs: dict[str, int] = {}
        self._acknowledged: list[tuple[int, str]] = []
        self.counts: dict[str, int] = {}

    def count(self, what: str) -> None:
        """Count what happened, for the report."""
        self.counts[what] = self.counts.get(what, 0) + 1

    # --- at commits --------------------------------------------------------------------------------------------------

    def committed(self) -> None:
        """Look at what a transaction has made visible."""
        for held in self._held():
            before = self._last.get(held.number)
            if before == held:
                continue
            self._last[held.number] = held
            if before is not None and held.epoch != before.epoch and before.owner is not None:
                self._taken(before, held)
            self._read(held)

    def _read(self, held: Held) -> None:
        """Read what is new in a log: nobody but the owner of the lease appends to a run."""
        stored = self._stored.setdefault(held.number, [])
        if held.version < len(stored):
            self.world.fail(f"the session {held.number} has lost events")
        for text in self._events(held.number, len(stored)):
            stored.append(name := json.loads(text)["author"])
            epoch = self._epochs.get(name.partition(".")[0])
            if epoch not in (None, held.epoch):
                self.world.fail(f"{name} is stored in session {held.number} under {epoch}: the lease is {held.epoch}")
        if len(stored) < held.version:
            self.world.fail(f"session {held.number} counts {held.version} events and has {len(stored)}")

    def _taken(self, before: Held, now: Held) -> None:
        """A lease that was not given back has another owner: the run that had it must know by now."""
        if before.owner == now.owner:
            return
        self.count("takeovers")
        run = self._runs.get((before.number, before.epoch))
        if run is None or run.is_over or run.process.is_dead or run.lease is None or run.lease.lost:
            return
        lease, world = run.lease, self.world
        if run.granted_at > lease.over_at and world.now <= run.granted_at + lease.seconds * _LAST_CHANCE:
            return
        begin = lease.since + lease.seconds / 2
        if world.troubles.within(begin, world.now, run.process, STALL) == 0.0:
            world.fail(f"{run.name} has the lease {before.epoch} of session {now.number}, which {now.owner} took")

    def granted(self, run: Run) -> None:
        """The run knows that it has the lease."""
        assert run.view is not None
        assert run.lease is not None
        if run.name not in self._epochs:
            run.granted_at = self.world.now
        self._runs[run.lease.number, run.view.lease] = run
        self._epochs[run.name] = run.view.lease

    def check_events(self) -> None:
        """Read what is new in the logs: acknowledged events are there, once, and the runs stand one after another."""
        for number in self._stored:
            if len(self._events(number, 0)) < len(self._stored[number]):
                self.world.fail(f"session {number} has lost events")
        for number, name in self._acknowledged:
            if (times := self._stored[number].count(name)) != 1:
                self.world.fail(f"the acknowledged event {name} of session {number} is stored {times} times")
        self._acknowledged.clear()
        for number, stored in self._stored.items():
            self._check_order(number, stored)

    def _check_order(self, number: int, stored: list[str]) -> None:
        """Nothing of a run comes after an event of a later one."""
        ended: set[str] = set()
        current = ""
        for name in stored:
            run = name.partition(".")[0]
            if run.startswith("note") or run == current:
                continue
            if run in ended:
                self.world.fail(f"{name} is stored in session {number} though another run has taken it over")
            ended.add(current)
            current = run

    def forget(self, number: int) -> None:
        """The session is not used any more."""
        for table in (self._last, self._stored):
            table.pop(number, None)  # type: ignore[attr-defined]
        self._runs = {key: run for key, run in self._runs.items() if key[0] != number}

    # --- at acts -----------------------------------------------------------------------------------------------------

    def acknowledged(self, session: Session, name: str) -> None:
        """An append has returned."""
        self.count("appends")
        if session.number in self._last:
            self._acknowledged.append((session.number, name))

    def effect(self, run: Run) -> None:
        """The run acts: nobody else may have its session."""
        self.count("effects")
        assert run.view is not None
        for held in self._held():
            if held.number == run.view.number and held.epoch != run.view.lease:
                self.world.fail(
                    f"{run.name} acts under the lease {run.view.lease} of session {held.number}, "
                    f"which {held.owner} has taken since (lease {held.epoch})"
                )

    def lost(self, run: Run) -> None:
        """The run is told that its lease is lost: something must have been in the way."""
        self.count("losses")
        lease, world = run.lease, self.world
        assert run.view is not None
        if lease is None:
            return
        last = self._last.get(lease.number)
        if last is not None and last.epoch != run.view.lease:
            return
        kinds = (STALL, HELD_UP, STORE, row_trouble(lease.number))
        # Another process that stands still may keep a lock: SQLite's for good, a server's for a while.
        trouble = world.troubles.within(lease.since, world.now, None, *kinds)
        if trouble < lease.seconds * _CAUSE:
            world.fail(f"{run.name} has lost the lease of session {lease.number} without a cause")

    def unavailable(self, process: Process, begin: float, number: int, patience: float) -> None:
        """A write was given up: the store cannot have been free for long."""
        kinds = (STALL, LOOP, HELD_UP, STORE, SHARED, row_trouble(number))
        if self.world.troubles.within(begin, self.world.now, process, *kinds) < patience / 3:
            self.world.fail(f"a write of {process.name} to session {number} was given up without a cause")

    def waited(self, process: Process, begin: float, seconds: float, what: str, *excuses: str) -> None:
        """A wait that may take `seconds` is over."""
        world = self.world
        if process.is_dead:  # its code ends when it is collected
            return
        taken = world.now - begin
        if taken > seconds + ALLOWANCE:
            # What stands still, and a commit under way, cannot be called back.
            excused = world.troubles.within(begin, world.now, process, STALL, LOOP, HELD_UP, *excuses)
            if taken > seconds + ALLOWANCE + excused:
                world.fail(f"{what} of {process.name} took {taken:.1f} s, and not at most {seconds:g} s")

    def error(self, error: BaseException, what: str, allowed: tuple[type[BaseException], ...]) -> None:
        """An operation has failed."""
        self.count(type(error).__name__)
        if not isinstance(error, allowed):
            self.world.fail(f"{what} failed with {type(error).__name__}: {error}", error)


def described(counts: dict[str, int]) -> str:
    """The counts in a line."""
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
