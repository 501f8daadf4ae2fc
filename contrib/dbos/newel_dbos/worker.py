"""DbosWorker: what becomes of a run that DBOS has handed to this process."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from newel.engines import TIME_IS_OVER, EngineWorker, Outcome, PostponedError, RunState, Work
from newel_dbos import shifts
from newel_dbos.access import Access
from newel_dbos.hub import Hub
from newel_dbos.shifts import Shift
from newel_kernel import seam

#: Seconds that work which was told to stop has for it.
_GRACE = 5.0


class Stop(StrEnum):
    """Why a run is stopped before it ends by itself."""

    CANCELLED = "cancelled"
    LATE = "late"
    RELEASED = "released"
    LOST = "lost"


@dataclass(slots=True, eq=False)
class Held:
    """A run that this worker has."""

    shift: Shift
    work: Work
    task: asyncio.Task[Outcome]
    done: asyncio.Event = field(default_factory=asyncio.Event)
    why: Stop | None = None

    def stop(self, why: Stop) -> None:
        """End the work, once."""
        if self.why is not None or self.task.done():
            return
        self.why = why
        if why is Stop.RELEASED or why is Stop.LOST:
            self.work.release(self.shift.spec.key)
        else:
            self.task.cancel()

    def compare(self, found: Mapping[str, tuple[int, bool]]) -> None:
        """Stop if others have the run now, or if it is to be cancelled: `found` is what this process has."""
        stretch, cancelled = found.get(self.shift.spec.key, (0, False))
        if stretch != self.shift.stretch:
            self.stop(Stop.LOST)
        elif cancelled:
            self.stop(Stop.CANCELLED)


class DbosWorker(EngineWorker):
    """See `EngineWorker`."""

    def __init__(self, access: Access, work: Work, queues: Sequence[str], concurrency: int, name: str) -> None:
        self.queues = tuple(queues)
        self.concurrency = concurrency
        self.name = name or f"{socket.gethostname()}:{os.getpid()}"
        #: How many runs it has or is about to begin.
        self.busy = 0
        self.open = False
        self._access = access
        self._work = work
        self._held: dict[str, Held] = {}
        self._hub: Hub | None = None

    @property
    def running(self) -> Sequence[str]:
        """See `EngineWorker`."""
        return tuple(self._held)

    @property
    def held(self) -> Sequence[Held]:
        """What becomes of each."""
        return tuple(self._held.values())

    async def start(self) -> None:
        """See `EngineWorker`."""
        self.open = True
        self._hub = await Hub.join(self._access, self)

    async def drain(self, seconds: float) -> None:
        """See `EngineWorker`."""
        hub, self._hub, self.open = self._hub, None, False
        if hub is None:
            return
        leaving = await hub.leaving(self, seconds + _GRACE)
        waits = [asyncio.ensure_future(held.done.wait()) for held in self.held]
        if waits and seconds > 0:
            await asyncio.wait(waits, timeout=seconds)
        await asyncio.sleep(0)  # what has just been handed out begins: before that nothing is there to be released
        for held in self.held:
            held.stop(Stop.RELEASED)
        if waits:
            await asyncio.wait(waits, timeout=_GRACE)
        for wait in waits:
            wait.cancel()
        await leaving()

    async def run(self, hub: Hub, key: str, stretch: int) -> None:
        """Run what DBOS handed out, if it is this worker's to run."""
        shift = await hub.write(shifts.begin, key, stretch, hub.executor, self.name)
        if shift is not None and self.open:
            await self._drive(hub, shift)
        elif shift is not None:
            await hub.write(shifts.release, shift)

    async def end(self, hub: Hub, shift: Shift) -> None:
        """End a run that nobody has, so that its open calls get their results."""
        await self._drive(hub, shift, Stop.CANCELLED if shift.cancelled else Stop.LATE)

    async def _drive(self, hub: Hub, shift: Shift, stop: Stop | None = None) -> None:
        work = self._work(shift.spec) if stop is None else self._work.close(shift.spec)
        task = seam.start_task(_awaited(work), name=f"run {shift.spec.key}")
        held = self._held[shift.spec.key] = Held(shift, self._work, task)
        late: asyncio.TimerHandle | None = None
        if stop is not None:
            held.why = stop
        elif shift.seconds is not None:
            late = hub.loop.call_later(shift.seconds, held.stop, Stop.LATE)
        try:
            await asyncio.wait([task])
            if held.why is not Stop.LOST:
                await self._leave(hub, held)
        finally:
            task.cancel()
            if late is not None:
                late.cancel()
            if self._held.get(shift.spec.key) is held:
                del self._held[shift.spec.key]
            held.done.set()

    async def _leave(self, hub: Hub, held: Held) -> None:
        """Write how a run has left this worker."""
        shift, error = held.shift, None if held.task.cancelled() else held.task.exception()
        outcome = held.task.result() if error is None and not held.task.cancelled() else None
        if outcome is not None and outcome.state in (RunState.ENDED, RunState.FAILED):
            await hub.write(shifts.finish, shift, outcome, outcome.reason)
        elif held.why is Stop.RELEASED and (outcome is None or outcome.state is RunState.CANCELLED):
            await hub.write(shifts.release, shift)
        elif held.why is Stop.CANCELLED or held.why is Stop.LATE:
            await self._cut(hub, held, outcome, type(error).__name__ if error else "")
        elif outcome is not None:
            await hub.write(shifts.finish, shift, outcome, "")
        elif isinstance(error, PostponedError) and not self.open:  # its process has released it before the worker did
            await hub.write(shifts.release, shift)
        elif isinstance(error, PostponedError):
            await hub.write(shifts.postpone, shift, error.seconds, error.reason)
        else:
            await hub.write(shifts.fail, shift, type(error).__name__ if error else "CancelledError")

    async def _cut(self, hub: Hub, held: Held, outcome: Outcome | None, trouble: str) -> None:
        """Write that a run was cancelled or late; if it may have calls open, they are closed before."""
        shift, suffix = held.shift, ""
        if outcome is None or outcome.state is not RunState.CANCELLED:
            if await hub.write(shifts.close_later, shift, trouble):
                return
            suffix = f"; its open calls could not be closed ({trouble})"
        events = outcome.events if outcome is not None else 0
        if held.why is Stop.CANCELLED:
            end, reason = Outcome(state=RunState.CANCELLED, events=events), "cancelled"
        else:
            end = Outcome(state=RunState.FAILED, events=events, error=TIME_IS_OVER)
            reason = f"it took longer than {shift.spec.seconds:g} s"
        await hub.write(shifts.finish, shift, end, reason + suffix)


async def _awaited(outcome: Awaitable[Outcome]) -> Outcome:
    return await outcome
