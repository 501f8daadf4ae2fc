"""The workflow of one invocation: decides when it is handed out, and never knows what happens in it.

Its code runs again over its history whenever a worker has forgotten it, and must decide the same then: it takes time,
waits and results from Temporal alone. It knows of newel only plain data.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import Priority, RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError, TimeoutType
from temporalio.exceptions import TimeoutError as ActivityTimeoutError

with workflow.unsafe.imports_passed_through():
    from newel_temporal import order as known
    from newel_temporal.order import Left, Order

#: A run has no other limit than its `seconds`; Temporal wants one.
_ENDLESS = timedelta(days=3650)
#: How long an attempt to give the open calls of a run their results may take, and how long to find a worker for it.
_CLOSING = timedelta(seconds=10)
_WORKER_FOR_CLOSING = timedelta(seconds=1.5)
#: How long a worker that decides may take to say whether it has room, and its run to come to it.
_ROOM = timedelta(seconds=5)
_DIRECT_SECONDS = 5.0
#: A store that is away, or workers that die, are not asked more often than this.
_FIRST_PAUSE = timedelta(seconds=0.5)
_LONGEST_PAUSE = timedelta(seconds=60)
#: The states in which a worker has left nothing open.
_ENDS = ("ended", "failed", "cancelled")


@workflow.defn(name=known.WORKFLOW)
class Run:
    """One invocation, from its submission to its end."""

    @workflow.init
    def __init__(self, order: Order) -> None:
        self._order = order
        self._left = order.left
        info = workflow.info()
        self._since = order.since if order.since is not None else info.workflow_start_time.timestamp()
        self._spec = named(order.spec, info.workflow_id)
        self._answers = 0
        #: How many of them there were when it was handed out.
        self._seen = 0
        self._looks = order.looks
        #: How many steps in a row have come to no result.
        self._lost = 0
        #: CANCELLED or FAILED once somebody or the deadline has ended it.
        self._cut = ""

    @workflow.signal(name=known.ANSWERED)
    def answered(self) -> None:
        """An answer is stored."""
        self._answers += 1

    @workflow.signal(name=known.EXPECTED)
    def expected(self, seconds: float) -> None:
        """An answer may be stored in so many seconds, and whoever stores it may not live to say so."""
        self._looks = max(self._looks or 0.0, workflow.time() + seconds)

    @workflow.run
    async def run(self, order: Order) -> Left:
        """How it has been left at last. Raises ApplicationError if it failed, CancelledError if it was cancelled."""
        left = await self._to_its_end()
        self._remember(left)
        if left.state == "ended":
            return left
        if left.state == "cancelled":
            raise asyncio.CancelledError
        raise ApplicationError(left.error or left.state, left, type=left.error or left.state, non_retryable=True)

    async def _to_its_end(self) -> Left:
        while True:
            self._seen = self._answers
            left = await self._handed_out()
            if self._cut:
                return self._ended_early(left) if left.state in _ENDS else await self._closed(left)
            if left.state not in ("paused", known.POSTPONED):
                return left
            self._remember(left)
            await self._wait(left)
            if self._cut:
                return await self._closed(left)
            if left.state == "paused":
                self._remember(replace(left, state="queued"))
            self._continue_if_long()

    def _continue_if_long(self) -> None:
        """Go on with a history of its own if this one is long; an answer of this one is looked for in that."""
        if workflow.info().is_continue_as_new_suggested():
            looks = self._looks if self._answers == self._seen else workflow.time()
            workflow.continue_as_new(replace(self._order, left=self._left, since=self._since, looks=looks))

    # --- waiting ------------------------------------------------------------------------------------------------------

    async def _until(self, done: Any, seconds: float | None = None) -> None:
        """Wait until `done()`, for at most `seconds`, or until somebody or the deadline ends the run."""
        remaining = self._remaining()
        limits = [limit for limit in (seconds, remaining) if limit is not None]
        try:
            await workflow.wait_condition(done, timeout=max(min(limits), 0.0) if limits else None)
        except TimeoutError:
            if limits and min(limits) == remaining:
                self._cut = "failed"
        except asyncio.CancelledError:
            self._cut = "cancelled"

    async def _wait(self, left: Left) -> None:
        """Wait for an answer that was stored since it was handed out, or for when a postponed run is due again."""
        if left.state == "paused":
            await self._answer()
        else:
            await self._until(lambda: False, left.seconds)

    async def _answer(self) -> None:
        while not self._cut and self._answers == self._seen:
            looks = self._looks
            seconds = None if looks is None else looks - workflow.time()
            if seconds is not None and seconds <= 0:
                self._looks = None
                return
            await self._until(lambda: self._answers > self._seen or self._looks != looks, seconds)  # noqa: B023

    def _remaining(self) -> float | None:
        """How many seconds it has left; None if there is no limit."""
        seconds = self._order.spec.get("seconds")
        return None if seconds is None else self._since + seconds - workflow.time()

    # --- workers ------------------------------------------------------------------------------------------------------

    async def _handed_out(self) -> Left:
        """How a worker has left it; the state is "cut" if it was ended early and no worker says how."""
        return await (self._in_steps() if self._order.steps else self._taken(known.RUN))

    async def _taken(self, activity: str) -> Left:
        """How a worker that fits has left it."""
        if await self._has_room():
            left = await self._taken_from(known.DECISIONS, activity, min(_DIRECT_SECONDS, self._order.misfit))
            if self._cut or left.state != known.ELSEWHERE:
                return left
            self._left = replace(self._left, attempts=left.attempts)
        if self._cut:
            return replace(self._left, state="cut")
        return await self._taken_from(self._order.queue, activity, self._order.misfit)

    async def _has_room(self) -> bool:
        """Whether the worker that decides this takes the run itself: it need not wait in its queue then."""
        handle: workflow.ActivityHandle[bool] = workflow.start_local_activity(
            known.ROOM,
            args=[workflow.info().workflow_id, self._order.queue],
            result_type=bool,
            schedule_to_close_timeout=_ROOM,
            retry_policy=RetryPolicy(maximum_attempts=1),
        )
        await self._until(handle.done)
        if self._cut:
            handle.cancel()
        with suppress(ActivityError):
            return await handle and not self._cut
        return False

    async def _taken_from(self, queue: str, activity: str, seconds: float) -> Left:
        """How a worker of a queue has left it that has taken it within so many seconds."""
        order = self._order
        return await self._result(
            workflow.start_activity(
                activity,
                self._wordless() if self._left.stored else self._spec,
                task_queue=queue,
                result_type=Left,
                schedule_to_start_timeout=timedelta(seconds=seconds),
                start_to_close_timeout=_ENDLESS,
                heartbeat_timeout=timedelta(seconds=order.lease),
                retry_policy=self._retries(),
                cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            ),
            self._without_direct if queue == known.DECISIONS else self._without_result,
        )

    async def _in_steps(self) -> Left:
        """The same, an activity for each step at the worker that has it; if that is gone, another one resumes it."""
        left = self._left
        while True:
            if left.state == known.STEPPING and left.queue:
                self._left = left
                self._continue_if_long()
                left = await self._stepped(left)
            else:
                left = await self._taken(known.BEGIN)
                if left.state == known.STEPPING:
                    self._remember(left)
            if self._cut or left.state != known.STEPPING:
                return left

    async def _stepped(self, left: Left) -> Left:
        """How its worker has left it after a step; without a queue if it is to be resumed by another one."""
        lease = timedelta(seconds=self._order.lease)
        after = await self._result(
            workflow.start_activity(
                known.STEPS[left.kind],
                workflow.info().workflow_id,
                summary=", ".join(left.names),
                task_queue=left.queue,
                result_type=Left,
                schedule_to_start_timeout=lease,
                start_to_close_timeout=_ENDLESS,
                heartbeat_timeout=lease,
                retry_policy=RetryPolicy(maximum_attempts=1),
                cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            ),
            self._without_step,
        )
        if after.queue:
            self._lost = 0
        return after

    async def _result(
        self, handle: workflow.ActivityHandle[Left], otherwise: Callable[[ActivityError], Awaitable[Left]]
    ) -> Left:
        """What an activity says; `otherwise` says what is so if it comes to no result."""
        await self._until(handle.done)
        if self._cut and not handle.done():
            handle.cancel()
        try:
            return self._counted(await handle)
        except ActivityError as error:
            return await otherwise(error)

    async def _without_step(self, error: ActivityError) -> Left:
        """What is so after a step that came to no result: its worker is gone, has released it, or had no store."""
        cause = error.cause
        if self._cut or isinstance(cause, CancelledError):
            return replace(self._left, state="cut")
        if not (isinstance(cause, ApplicationError) and cause.type == known.RELEASED):
            self._lost += 1
            if self._lost >= self._order.attempts:
                return self._given_up(cause, self._left.attempts)
            pause = min(_FIRST_PAUSE.total_seconds() * 2 ** (self._lost - 1), _LONGEST_PAUSE.total_seconds())
            await self._until(lambda: False, pause)
        self._left = replace(self._left, state=known.STEPPING, queue="")
        return self._left

    async def _without_direct(self, error: ActivityError) -> Left:
        """The same if no worker was asked through its queue: one that is there may be."""
        cause = error.cause
        if not self._cut and isinstance(cause, ActivityTimeoutError) and cause.type == TimeoutType.SCHEDULE_TO_START:
            return replace(self._left, state=known.ELSEWHERE)
        return await self._without_result(error)

    async def _without_result(self, error: ActivityError) -> Left:
        """What is so after an activity that came to no result: nobody took it, or all its attempts failed."""
        cause = error.cause
        if self._cut or isinstance(cause, CancelledError):
            return replace(self._left, state="cut")
        if isinstance(cause, ActivityTimeoutError) and cause.type == TimeoutType.SCHEDULE_TO_START:
            if await self._has_listener():
                return replace(self._left, state=known.POSTPONED, reason="its workers are busy", seconds=0.0)
            reason = f"no worker listened to {self._order.queue} within {self._order.misfit:g} s"
            return replace(self._left, state="misfit", error=known.NO_WORKER, reason=reason)
        return self._given_up(cause, self._left.attempts + self._order.attempts)

    def _given_up(self, cause: BaseException | None, attempts: int) -> Left:
        reason = f"{self._order.attempts} attempts came to no outcome"
        return replace(self._left, state="failed", error=_class_of(cause), attempts=attempts, reason=reason)

    async def _has_listener(self) -> bool:
        handle = workflow.start_activity(
            known.LISTENERS,
            self._order.queue,
            result_type=bool,
            start_to_close_timeout=_CLOSING,
            priority=Priority(priority_key=1),
        )
        await self._until(handle.done)
        return handle.done() and handle.result()

    async def _closed(self, left: Left) -> Left:
        """Have a worker give the open calls their results: the one that it waits at, or any."""
        queues = [left.queue] if left.queue else []
        reason = ""
        for queue in [*queues, known.closing_queue(self._order.queue)]:
            handle = self._closing(queue)
            await self._settled(handle)
            try:
                return self._ended_early(self._counted(await handle))
            except ActivityError as error:
                reason = _without_closing(error)
        return self._ended_early(replace(self._left, reason=reason))

    def _closing(self, queue: str) -> workflow.ActivityHandle[Left]:
        """The end of the run at a worker. If its store is away, it is tried for as long as a run would be."""
        remaining = self._remaining()
        # Temporal ends the whole of it some time after its deadline: it says why before that.
        limit = None if remaining is None else max(known.AFTER_DEADLINE * 0.9 + timedelta(seconds=remaining), _CLOSING)
        return workflow.start_activity(
            known.CLOSE,
            self._wordless(),
            task_queue=queue,
            result_type=Left,
            schedule_to_start_timeout=_WORKER_FOR_CLOSING,
            start_to_close_timeout=_CLOSING,
            schedule_to_close_timeout=limit,
            retry_policy=self._retries(),
            priority=Priority(priority_key=1),
        )

    async def _settled(self, handle: workflow.ActivityHandle[Any]) -> None:
        """Wait for an activity, whoever cancels the run meanwhile."""
        while not handle.done():
            try:
                await workflow.wait_condition(handle.done)
            except asyncio.CancelledError:  # it is being ended
                continue

    def _retries(self) -> RetryPolicy:
        return RetryPolicy(
            initial_interval=_FIRST_PAUSE, maximum_interval=_LONGEST_PAUSE, maximum_attempts=self._order.attempts
        )

    # --- what is known ------------------------------------------------------------------------------------------------

    def _counted(self, left: Left) -> Left:
        """`left` with what was known before: an attempt that was postponed does not count."""
        before = self._left
        attempts = before.attempts + left.attempts
        started = before.started if before.started is not None else left.started
        stored = left.stored or before.stored
        return replace(left, attempts=attempts, started=started, stored=stored, worker=left.worker or before.worker)

    def _ended_early(self, left: Left) -> Left:
        """`left` as a run that somebody or the deadline has ended; one that came to its own end meanwhile has that."""
        if left.state in ("ended", "failed"):
            return left
        if self._cut == "failed":
            reason = f"it took longer than {self._order.spec['seconds']:g} s"
            return replace(left, state="failed", error=known.DEADLINE, waits_for=[], reason=reason)
        return replace(left, state="cancelled", waits_for=[], reason=left.reason or "cancelled")

    def _remember(self, left: Left) -> None:
        self._left = left
        workflow.upsert_memo({known.LEFT_MEMO: left})

    def _wordless(self) -> dict[str, Any]:
        """The spec without the words that the log has once they are stored."""
        return {name: value for name, value in self._spec.items() if name not in ("message", "state_delta")}


def _without_closing(error: ActivityError) -> str:
    """Why open calls got no results, for people; they get them when the run is resumed."""
    cause = error.cause
    if isinstance(cause, ActivityTimeoutError) and cause.type == TimeoutType.SCHEDULE_TO_START:
        return "no worker was there to give its open calls their results"
    return f"its open calls got no results ({_class_of(cause)})"


def _class_of(cause: BaseException | None) -> str:
    """The class of the error that an activity ended with."""
    return (cause.type if isinstance(cause, ApplicationError) else None) or type(cause).__name__


def named(spec: dict[str, Any], workflow_id: str) -> dict[str, Any]:
    """The spec of the run of this id. A schedule makes an id of its own for each run of its one spec."""
    return {**spec, "invocation_id": workflow_id.removeprefix(f"{spec['app_name']}:")}
