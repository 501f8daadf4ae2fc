"""The activities of a worker: they call its `Work`, and give ids and numbers back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from newel.engines import InvocationSpec, Outcome, PostponedError, RunState, Stepping, Work
from newel_kernel import brief, plain, seam
from newel_temporal import order as known
from newel_temporal.order import Left

#: Of the names of a step's calls, how many are told, and how much of each.
_NAMES, _LETTERS = 8, 60
#: How long a place is kept for a run that is about to come, in seconds.
_KEPT = 1.0


class Held:
    """A run that a worker has: in one activity, or waiting for the next of its steps."""

    def __init__(self, stepping: Stepping | None, *, is_taken: bool = True) -> None:
        self.stepping = stepping
        self.task: asyncio.Task[Outcome]
        #: Whether it waits for a slot, as the queues of a worker share its slots.
        self.waits = True
        self.is_released = False
        #: Whether an activity of the runs' queue has it: one of the SDK's slots is taken by that.
        self.is_taken = is_taken
        #: Releases it if its next step does not come.
        self.timer: asyncio.TimerHandle | None = None

    @property
    def is_between(self) -> bool:
        """Whether no activity has it."""
        return self.timer is not None

    def go_on(self) -> None:
        """An activity has it again."""
        if self.timer is not None:
            self.timer.cancel()
        self.timer = None


class Runs:
    """The runs that a worker of this process has. `queue` is the worker's own, for the steps of these."""

    def __init__(self, work: Work, name: str, *, beat: float, concurrency: int, queue: str = "") -> None:
        self._work = work
        self._name = name
        self._beat = beat
        self._queue = queue
        self._slots = asyncio.Semaphore(concurrency)
        self._held: dict[str, Held] = {}
        self._rooms: dict[str, Callable[[], bool]] = {}
        self._expected: dict[str, asyncio.TimerHandle] = {}
        #: Set when there are none.
        self.idle = asyncio.Event()
        self.idle.set()
        #: Set, and replaced, when one is over, or goes from one activity to another.
        self.changed = asyncio.Event()

    @property
    def running(self) -> list[str]:
        """The keys of the runs that have begun."""
        return [key for key, held in self._held.items() if not held.waits]

    @property
    def untaken(self) -> int:
        """How many are here, or about to come, in no activity of the runs' queue."""
        return len(self._expected) + sum(not held.is_taken for held in self._held.values())

    def serve(self, queue: str, has_room: Callable[[], bool]) -> None:
        """Take runs of the queue, as long as `has_room`, also from the decision that hands them out."""
        self._rooms[queue] = has_room

    def serve_no_more(self) -> None:
        """Take none of those any more."""
        self._rooms.clear()

    @activity.defn(name=known.ROOM)
    async def room(self, key: str, queue: str) -> bool:
        """Whether a run of the queue is to come here, without the way through the queue. A place is kept for it."""
        if key in self._expected:
            return True
        if key in self._held or not self._has_room(queue):
            return False
        self._expected[key] = asyncio.get_running_loop().call_later(_KEPT, self._expect_no_more, key)
        return True

    def _has_room(self, queue: str) -> bool:
        has_room = self._rooms.get(queue)
        return has_room is not None and has_room()

    def _expect_no_more(self, key: str) -> bool:
        """Give up the place that was kept for a run; whether there was one."""
        timer = self._expected.pop(key, None)
        if timer is None:
            return False
        timer.cancel()
        self._tell()
        return True

    @activity.defn(name=known.RUN)
    async def run(self, data: dict[str, Any]) -> Left:
        """Run or resume an invocation. Raises only what makes another attempt worth while, without anybody's words."""
        return await self._taken(data, None)

    @activity.defn(name=known.BEGIN)
    async def begin(self, data: dict[str, Any]) -> Left:
        """The same in steps, up to the first call."""
        return await self._taken(data, Stepping())

    @activity.defn(name=known.STEPS["model"])
    async def model(self, key: str) -> Left:
        """Call a model, up to the next step of the run."""
        return await self._step(key)

    @activity.defn(name=known.STEPS["tool"])
    async def tool(self, key: str) -> Left:
        """Call the tools that one answer calls, up to the next step of the run."""
        return await self._step(key)

    @activity.defn(name=known.CLOSE)
    async def close(self, data: dict[str, Any]) -> Left:
        """Give the open calls of a run that no worker has, or that waits here for its next step, their results.

        Raises what makes another attempt worth while, as when the store is away.
        """
        spec = InvocationSpec.model_validate(data)
        if (held := self._held.get(spec.key)) is not None and held.is_between:
            held.go_on()
            held.task.cancel()
            await asyncio.wait((held.task,))
        task = seam.spawn(_awaited(self._work.close(spec)))
        await asyncio.wait((task,))
        outcome = _result_of(task)
        if isinstance(outcome, PostponedError):
            raise ApplicationError(
                brief(outcome.reason), type=known.POSTPONED, next_retry_delay=timedelta(seconds=outcome.seconds)
            )
        if not isinstance(outcome, Outcome):
            raise outcome
        return Left(state=str(RunState.CANCELLED), events=outcome.events)

    def release(self) -> None:
        """End all runs here, for other workers to resume."""
        for key in list(self._held):
            self._let_go(key)

    async def _taken(self, data: dict[str, Any], stepping: Stepping | None) -> Left:
        spec = InvocationSpec.model_validate(data)
        info = activity.info()
        is_direct = info.task_queue == known.DECISIONS
        if is_direct and not (self._expect_no_more(spec.key) or self._has_room(spec.queue)):
            return Left(state=known.ELSEWHERE, attempts=info.attempt - 1)
        held = self._held.get(spec.key)
        if held is None:
            held = self._held[spec.key] = Held(stepping, is_taken=not is_direct)
            self.idle.clear()
            held.task = seam.spawn(self._begun(spec, held))
            held.task.add_done_callback(lambda _: self._forget(spec.key))
        elif not held.is_between:
            return self._postponed(PostponedError("this worker has the run already", self._beat))
        return await self._followed(spec.key, held)

    async def _step(self, key: str) -> Left:
        held = self._held.get(key)
        if held is None or held.stepping is None or not held.is_between:
            return Left(state=known.STEPPING)
        held.stepping.go_on()
        return await self._followed(key, held)

    async def _followed(self, key: str, held: Held) -> Left:
        """How the run is left. Meanwhile Temporal hears that this worker has it, and says if it is cancelled."""
        held.go_on()
        info = activity.info()
        stopped = seam.spawn(held.stepping.stopped()) if held.stepping is not None else None
        try:
            while not held.task.done() and not (stopped is not None and stopped.done()):
                try:
                    waited = (held.task,) if stopped is None else (held.task, stopped)
                    await asyncio.wait(waited, timeout=self._beat_of(info), return_when=asyncio.FIRST_COMPLETED)
                    activity.heartbeat()
                except asyncio.CancelledError:
                    self._stop(key, held)
                    if stopped is not None:
                        stopped.cancel()
                        stopped = None
        finally:
            if stopped is not None:
                stopped.cancel()
        return self._left(held, info) if held.task.done() else self._between(key, held, info)

    def _beat_of(self, info: activity.Info) -> float:
        return min(self._beat, _lease_of(info) / 3)

    def _left(self, held: Held, info: activity.Info) -> Left:
        outcome = _result_of(held.task)
        if held.is_released and (held.waits or isinstance(outcome, PostponedError)):
            raise ApplicationError(
                "released by its worker", type=known.RELEASED, next_retry_delay=timedelta(milliseconds=1)
            )
        if isinstance(outcome, PostponedError):
            return self._postponed(outcome)
        if not isinstance(outcome, Outcome):
            raise outcome
        return Left(
            state=str(outcome.state),
            events=outcome.events,
            waits_for=list(outcome.waits_for),
            error=outcome.error,
            reason=outcome.reason,
            stored=outcome.state in (RunState.PAUSED, RunState.ENDED),
            **self._attempt(info),
        )

    def _between(self, key: str, held: Held, info: activity.Info) -> Left:
        """How a run is left that waits here for its next step."""
        assert held.stepping is not None, "it has stopped before a call"
        calls = held.stepping.waiting
        held.is_taken = False
        held.timer = asyncio.get_running_loop().call_later(_lease_of(info), self._let_go, key)
        self._tell()
        return Left(
            state=known.STEPPING,
            events=held.stepping.stored(),
            stored=True,
            queue=self._queue,
            kind="tool" if any(call.kind == "tool" for call in calls) else "model",
            names=[plain(call.name, _LETTERS) for call in calls[:_NAMES]],
            **self._attempt(info),
        )

    def _attempt(self, info: activity.Info) -> dict[str, Any]:
        begun = {"attempts": info.attempt} if info.activity_type in (known.RUN, known.BEGIN) else {}
        return {**begun, "worker": self._name, "started": info.started_time.timestamp()}

    def _postponed(self, error: PostponedError) -> Left:
        return Left(state=known.POSTPONED, reason=brief(error.reason), seconds=error.seconds, worker=self._name)

    async def _begun(self, spec: InvocationSpec, held: Held) -> Outcome:
        async with self._slots:
            held.waits = False
            return await (self._work(spec) if held.stepping is None else self._work(spec, held.stepping))

    def _forget(self, key: str) -> None:
        held = self._held.pop(key)
        held.go_on()
        _result_of(held.task)  # nobody else may ask for it
        if not self._held:
            self.idle.set()
        self._tell()

    def _tell(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    def _stop(self, key: str, held: Held) -> None:
        """End a run that is cancelled; one that another worker may have by now is released."""
        details = activity.cancellation_details()
        if details is not None and details.cancel_requested:
            held.task.cancel()
        else:
            self._let_go(key)

    def _let_go(self, key: str) -> None:
        if (held := self._held.get(key)) is None:
            return
        held.go_on()  # a step that comes late finds no run here
        held.is_released = True
        if held.waits:
            held.task.cancel()
        else:
            self._work.release(key)


def _lease_of(info: activity.Info) -> float:
    return (info.heartbeat_timeout or timedelta(days=1)).total_seconds()


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
