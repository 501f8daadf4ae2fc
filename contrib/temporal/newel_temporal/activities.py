"""The activities of a worker: they call its `Work`, and give ids and numbers back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from newel.engines import InvocationSpec, Outcome, PostponedError, RunState, Work
from newel_kernel import brief, seam
from newel_temporal import order as known
from newel_temporal.order import Left

RELEASED = "Released"


class Runs:
    """The runs that a worker of this process has."""

    def __init__(self, work: Work, name: str, *, beat: float, concurrency: int) -> None:
        self._work = work
        self._name = name
        self._beat = beat
        self._slots = asyncio.Semaphore(concurrency)
        self._tasks: dict[str, asyncio.Task[Outcome]] = {}
        #: Those that wait for a slot, as the queues of a worker share its slots.
        self._waiting: set[str] = set()
        self._released: set[str] = set()
        #: Set when there are none.
        self.idle = asyncio.Event()
        self.idle.set()

    @property
    def running(self) -> list[str]:
        """The keys of the runs that have begun."""
        return [key for key in self._tasks if key not in self._waiting]

    @activity.defn(name=known.RUN)
    async def run(self, data: dict[str, Any]) -> Left:
        """Run or resume an invocation. Raises only what makes another attempt worth while, without anybody's words."""
        spec = InvocationSpec.model_validate(data)
        info = activity.info()
        outcome = await self._result(spec, self._beat_of(info))
        if isinstance(outcome, PostponedError):
            return Left(state=known.POSTPONED, reason=brief(outcome.reason), seconds=outcome.seconds, worker=self._name)
        if isinstance(outcome, Outcome):
            return self._left(outcome, info)
        raise outcome

    @activity.defn(name=known.CLOSE)
    async def close(self, data: dict[str, Any]) -> Left:
        """Give the open calls of a run that no worker has their results."""
        task = seam.spawn(_awaited(self._work.close(InvocationSpec.model_validate(data))))
        await asyncio.wait((task,))
        result = _result_of(task)
        return Left(state=str(RunState.CANCELLED), events=result.events if isinstance(result, Outcome) else 0)

    def release(self) -> None:
        """End all runs here, for other workers to resume."""
        for key in list(self._tasks):
            self._let_go(key)

    def _beat_of(self, info: activity.Info) -> float:
        lease = info.heartbeat_timeout or timedelta(days=1)
        return min(self._beat, lease.total_seconds() / 3)

    def _left(self, outcome: Outcome, info: activity.Info) -> Left:
        return Left(
            state=str(outcome.state),
            events=outcome.events,
            waits_for=list(outcome.waits_for),
            error=outcome.error,
            reason=outcome.reason,
            attempts=info.attempt,
            stored=outcome.state in (RunState.PAUSED, RunState.ENDED),
            worker=self._name,
            started=info.started_time.timestamp(),
        )

    async def _result(self, spec: InvocationSpec, beat: float) -> Outcome | PostponedError | ApplicationError:
        """How the work has ended; meanwhile Temporal hears that this worker has it, and says if it is cancelled."""
        key = spec.key
        self._waiting.add(key)
        task = self._tasks[key] = seam.spawn(self._begun(spec))
        self.idle.clear()
        try:
            while not task.done():
                try:
                    await asyncio.wait((task,), timeout=beat)
                    activity.heartbeat()
                except asyncio.CancelledError:
                    self._stop(key)
            result = _result_of(task)
            is_released = key in self._released and (key in self._waiting or isinstance(result, PostponedError))
        finally:
            del self._tasks[key]
            self._waiting.discard(key)
            self._released.discard(key)
            if not self._tasks:
                self.idle.set()
        if is_released:
            return ApplicationError("released by its worker", type=RELEASED, next_retry_delay=timedelta(milliseconds=1))
        return result

    async def _begun(self, spec: InvocationSpec) -> Outcome:
        async with self._slots:
            self._waiting.discard(spec.key)
            return await self._work(spec)

    def _stop(self, key: str) -> None:
        """End a run that is cancelled; one that another worker may have by now is released."""
        details = activity.cancellation_details()
        if details is not None and details.cancel_requested:
            self._tasks[key].cancel()
        else:
            self._let_go(key)

    def _let_go(self, key: str) -> None:
        self._released.add(key)
        if key in self._waiting:
            self._tasks[key].cancel()
        else:
            self._work.release(key)


async def _awaited(outcome: Awaitable[Outcome]) -> Outcome:
    return await outcome


def _result_of(task: asyncio.Task[Outcome]) -> Outcome | PostponedError | ApplicationError:
    """How work has ended. Of an error only its class: a text may quote what the agent has read or said."""
    if task.cancelled():
        return Outcome(state=RunState.CANCELLED)
    error = task.exception()
    if error is None:
        return task.result()
    if isinstance(error, PostponedError):
        return error
    name = type(error).__name__
    return ApplicationError(name, type=name)
