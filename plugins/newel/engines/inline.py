"""InlineEngine: runs in this process, one event loop's; they end with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from newel.engines.engine import (
    OVER,
    TIME_IS_OVER,
    BaseEngine,
    EngineWorker,
    Outcome,
    PostponedError,
    RunNotFoundError,
    RunRecord,
    RunState,
    Work,
)
from newel.engines.places import Place, place_of
from newel.engines.spec import InvocationSpec, check_same, check_spec
from newel.sessions.errors import StoreUnavailableError
from newel_kernel import brief, seam

_log = logging.getLogger(__name__)
#: How many ended runs it remembers.
_REMEMBERED = 1000
#: How often a run is tried whose store is away, and the pauses before, in seconds.
_ATTEMPTS = 6
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 10.0
#: How long a worker that drains waits for what it has released, in seconds.
_GRACE = 5.0


class _Entry:
    """A run, and what is under way for it."""

    def __init__(self, spec: InvocationSpec, number: int) -> None:
        self.record = RunRecord(spec=spec, state=RunState.QUEUED, submitted=seam.clock())
        self.place = (spec.priority, number)
        self.task: asyncio.Task[None] | None = None
        #: How often in succession an attempt has failed.
        self.failures = 0
        #: Whether it may be handed out: not during a pause.
        self.is_ready = True
        #: Whether an answer came while a worker had it.
        self.is_signalled = False
        #: How and why it ends before its work does: CANCELLED or FAILED; None: it does not.
        self.ending: tuple[RunState, str] | None = None
        #: Whether its task gives its open calls their results: nothing cuts that short.
        self.is_closing = False
        self.timers: list[asyncio.TimerHandle] = []

    def set(self, state: RunState, reason: str = "", outcome: Outcome | None = None) -> None:
        ended = seam.clock() if state in OVER else None
        self.record = replace(self.record, state=state, reason=reason, ended=ended, outcome=outcome)

    @property
    def waits(self) -> bool:
        """Whether it waits for a worker."""
        return self.record.state is RunState.QUEUED and self.is_ready and self.task is None

    def stop_timers(self) -> None:
        while self.timers:
            self.timers.pop().cancel()


class InlineEngine(BaseEngine):
    """Runs what is submitted by workers of this process, in the event loop that uses it."""

    in_process: ClassVar[bool] = True

    def __init__(self) -> None:
        self._runs: dict[str, _Entry] = {}
        self._workers: list[_Worker] = []
        self._count = 0

    async def submit(self, spec: InvocationSpec) -> RunRecord:
        """Queue the run, or find it again."""
        check_spec(spec)
        if (known := self._runs.get(spec.key)) is not None:
            check_same(known.record.spec, spec)
            return known.record
        self._count += 1
        entry = self._runs[spec.key] = _Entry(spec, self._count)
        self._limit(entry)
        self._forget()
        self._hand_out()
        return entry.record

    async def signal(self, key: str, *, seconds: float = 0.0) -> None:
        """Queue a paused run again."""
        entry = self._found(key)
        if seconds > 0 and entry.record.state not in OVER:
            entry.timers.append(asyncio.get_running_loop().call_later(seconds, self._signal, entry))
        else:
            self._signal(entry)

    async def cancel(self, key: str) -> None:
        """End a run."""
        self._end(self._found(key), RunState.CANCELLED, "cancelled")

    async def retry(self, key: str) -> None:
        """Queue an ended run again; one that has ended well, or has not ended, does not change."""
        entry = self._found(key)
        if entry.record.state in OVER and entry.record.state is not RunState.ENDED:
            spec = entry.record.spec
            entry.record = replace(entry.record, spec=spec.model_copy(update={"attempt": spec.attempt + 1}))
            entry.failures, entry.ending = 0, None
            self._limit(entry)
            self._queue(entry, "retried")

    async def record(self, key: str) -> RunRecord | None:
        """What is known about a run."""
        entry = self._runs.get(key)
        return entry.record if entry is not None else None

    async def records(
        self,
        *,
        app_name: str | None = None,
        state: RunState | None = None,
        session: Place | None = None,
        most: int = 100,
    ) -> Sequence[RunRecord]:
        """The runs, the newest first."""
        records = [entry.record for entry in reversed(self._runs.values())]
        fit = [one for one in records if app_name in (None, one.spec.app_name) and state in (None, one.state)]
        return [one for one in fit if session is None or place_of(one.spec) == session][:most]

    def worker(self, work: Work, queues: Sequence[str], *, concurrency: int = 10, name: str = "") -> EngineWorker:
        """A worker of this process."""
        return _Worker(self, work, queues, concurrency, name or f"worker-{len(self._workers) + 1}")

    async def close(self) -> None:
        """Release what runs."""
        for worker in [*self._workers]:
            await worker.drain(0)
        for entry in self._runs.values():
            entry.stop_timers()

    def join(self, worker: _Worker) -> None:
        """Hand runs out to a worker from now on."""
        self._workers.append(worker)
        self._hand_out()

    def leave(self, worker: _Worker) -> None:
        """Hand nothing out to it any more."""
        if worker in self._workers:
            self._workers.remove(worker)

    def _found(self, key: str) -> _Entry:
        if (entry := self._runs.get(key)) is None:
            raise RunNotFoundError(f"there is no run {brief(key)!r}")
        return entry

    def _queue(self, entry: _Entry, reason: str, seconds: float = 0.0) -> None:
        entry.set(RunState.QUEUED, reason)
        entry.is_ready = seconds <= 0
        if not entry.is_ready:
            entry.timers.append(asyncio.get_running_loop().call_later(seconds, self._again, entry))
        self._hand_out()

    def _signal(self, entry: _Entry) -> None:
        if entry.record.state is RunState.PAUSED and entry.ending is None:
            self._queue(entry, "an answer came")
        elif entry.record.state not in OVER:
            entry.is_signalled = True

    def _again(self, entry: _Entry) -> None:
        entry.is_ready = True
        self._hand_out()

    def _limit(self, entry: _Entry) -> None:
        """End the run when its time is over."""
        if (seconds := entry.record.spec.seconds) is not None:
            late = (entry, RunState.FAILED, f"it took longer than {seconds:g} s")
            entry.timers.append(asyncio.get_running_loop().call_later(seconds, self._end, *late))

    def _end(self, entry: _Entry, state: RunState, reason: str) -> None:
        if entry.record.state in OVER or entry.is_closing:
            return
        entry.ending = entry.ending or (state, reason)
        if entry.task is not None:
            entry.task.cancel()
        else:
            self._close(entry)

    def _close(self, entry: _Entry) -> None:
        """End a run that no worker has; if it has begun, one gives its open calls their results before."""
        worker = next((one for one in self._workers if one.fits(entry.record.spec)), None)
        if worker is None or entry.record.started is None:
            self._over(entry, None)
        else:
            entry.is_closing, entry.failures = True, 0
            self._spawn(entry, worker, self._closing(entry, worker))

    async def _closing(self, entry: _Entry, worker: _Worker) -> None:
        try:
            outcome = await self._closed(entry, worker)
            while isinstance(outcome, float):
                await asyncio.sleep(outcome)
                outcome = await self._closed(entry, worker)
        finally:
            self._leave(entry, worker)
        self._over(entry, outcome)

    async def _closed(self, entry: _Entry, worker: _Worker) -> Outcome | float | None:
        """How a run was closed; how long to wait before the next attempt; None if it cannot be closed."""
        try:
            return await worker.work.close(entry.record.spec)
        except PostponedError as error:
            return float(error.seconds)
        except StoreUnavailableError as error:  # however long it is away
            return self._pause(entry, error)
        except Exception as error:  # noqa: BLE001 - a plugin boundary: it is tried again
            pause = self._pause(entry, error)
            if entry.failures < _ATTEMPTS:
                return pause
            _log.warning("calls of the run %s stay open: %s", entry.record.spec.key, type(error).__name__)
            return None

    def _over(self, entry: _Entry, outcome: Outcome | None) -> None:
        assert entry.ending is not None, "somebody has ended it"
        state, reason = entry.ending
        error = TIME_IS_OVER if state is RunState.FAILED else ""
        events = outcome.events if outcome is not None else 0
        entry.set(state, reason, Outcome(state=state, events=events, error=error))
        entry.is_closing = False
        entry.stop_timers()
        self._hand_out()

    def _hand_out(self) -> None:
        if not any(worker.has_room for worker in self._workers):
            return
        waiting = [one for one in self._runs.values() if one.waits]
        for entry in sorted(waiting, key=lambda one: one.place):
            fit = (one for one in self._workers if one.has_room and one.fits(entry.record.spec))
            if (worker := min(fit, key=lambda one: len(one.running), default=None)) is not None:
                self._begin(entry, worker)

    def _begin(self, entry: _Entry, worker: _Worker) -> None:
        known = entry.record
        entry.record = replace(
            known,
            state=RunState.RUNNING,
            attempts=known.attempts + 1,
            worker=worker.name,
            reason="",
            started=known.started or seam.clock(),
            ended=None,
        )
        entry.is_signalled = False
        self._spawn(entry, worker, self._drive(entry, worker))

    def _spawn(self, entry: _Entry, worker: _Worker, work: Coroutine[Any, Any, None]) -> None:
        key = entry.record.spec.key
        entry.task = task = worker.tasks[key] = seam.spawn(work, name=key)
        task.add_done_callback(lambda task: self._done(entry, worker, task))

    def _done(self, entry: _Entry, worker: _Worker, task: asyncio.Task[None]) -> None:
        """See to a run that was ended before its first step: nothing else has."""
        if entry.task is task:
            self._leave(entry, worker)
            if entry.ending is not None:  # else the loop ends
                self._close(entry)

    def _leave(self, entry: _Entry, worker: _Worker) -> None:
        entry.task = None
        del worker.tasks[entry.record.spec.key]

    async def _drive(self, entry: _Entry, worker: _Worker) -> None:
        state, reason, outcome, then = RunState.QUEUED, "", None, 0.0
        try:
            outcome = await worker.work(entry.record.spec)
            state, reason, entry.failures = outcome.state, outcome.reason, 0
        except asyncio.CancelledError:
            if entry.ending is None:
                raise
        except PostponedError as error:
            entry.record = replace(entry.record, attempts=entry.record.attempts - 1)
            reason, then = error.reason, error.seconds
        except Exception as error:  # noqa: BLE001 - a plugin boundary: it is tried again
            state, reason, then = self._failed(entry, error)
        finally:
            self._leave(entry, worker)
        self._left(entry, state, reason, outcome, then)

    def _failed(self, entry: _Entry, error: Exception) -> tuple[RunState, str, float]:
        pause, name = self._pause(entry, error), type(error).__name__
        if entry.failures >= _ATTEMPTS:
            return RunState.FAILED, f"{entry.failures} attempts failed, the last with {name}", 0.0
        return RunState.QUEUED, name, pause

    def _pause(self, entry: _Entry, error: Exception) -> float:
        """How long to wait after a further failure, in seconds."""
        entry.failures += 1
        _log.warning("attempt %d at the run %s: %s", entry.failures, entry.record.spec.key, type(error).__name__)
        return min(_FIRST_PAUSE * 2.0 ** min(entry.failures, _ATTEMPTS), _LONGEST_PAUSE)

    def _left(self, entry: _Entry, state: RunState, reason: str, outcome: Outcome | None, then: float) -> None:
        if entry.ending is not None and state is RunState.CANCELLED:
            self._over(entry, outcome)
        elif entry.ending is not None and (outcome is None or state is RunState.PAUSED):  # it did not end by itself
            self._close(entry)
        elif state is RunState.QUEUED or (state is RunState.PAUSED and entry.is_signalled):
            self._queue(entry, reason, then)
        else:
            entry.set(state, reason, outcome)
            if state in OVER:
                entry.stop_timers()
            self._hand_out()

    def _forget(self) -> None:
        over = [key for key, entry in self._runs.items() if entry.record.state in OVER]
        for key in over[:-_REMEMBERED]:
            del self._runs[key]


class _Worker(EngineWorker):
    """Takes the runs of an InlineEngine."""

    def __init__(self, engine: InlineEngine, work: Work, queues: Sequence[str], concurrency: int, name: str) -> None:
        self.work = work
        self.name = name
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self._engine = engine
        self._queues = frozenset(queues)
        self._concurrency = concurrency

    @property
    def running(self) -> Sequence[str]:
        """The keys of the runs that it has now."""
        return [*self.tasks]

    @property
    def has_room(self) -> bool:
        """Whether it has fewer runs than it may have."""
        return len(self.tasks) < self._concurrency

    def fits(self, spec: InvocationSpec) -> bool:
        """Whether it is a worker for such a run."""
        return spec.queue in self._queues

    async def start(self) -> None:
        """Begin to take runs."""
        self._engine.join(self)

    async def drain(self, seconds: float) -> None:
        """Take no more, and leave those under way after `seconds` to others."""
        self._engine.leave(self)
        await asyncio.sleep(0)  # what has just been handed out begins: before that nothing is there to be released
        if self.tasks and seconds > 0:
            await asyncio.wait([*self.tasks.values()], timeout=seconds)
        for key in self.running:
            self.work.release(key)
        if self.tasks:
            await asyncio.wait([*self.tasks.values()], timeout=_GRACE)
        for key in self.running:
            _log.warning("the run %s does not end here though it was released", key)
