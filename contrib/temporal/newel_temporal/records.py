"""Records: what Temporal knows about a run, as newel says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from temporalio.api.enums.v1 import PendingActivityState, TaskQueueType
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.client import Client, WorkflowExecution, WorkflowExecutionDescription, WorkflowExecutionStatus

from newel.engines import InvocationSpec, Outcome, RunRecord, RunState
from newel_temporal import order as known
from newel_temporal.listeners import has_listener
from newel_temporal.order import Left
from newel_temporal.workflow import named

_OPEN = WorkflowExecutionStatus.RUNNING
#: What the status of a workflow says if it has ended in a way that its code does not know of.
_ENDED = {
    WorkflowExecutionStatus.COMPLETED: RunState.ENDED,
    WorkflowExecutionStatus.FAILED: RunState.FAILED,
    WorkflowExecutionStatus.TIMED_OUT: RunState.FAILED,
    WorkflowExecutionStatus.CANCELED: RunState.CANCELLED,
    WorkflowExecutionStatus.TERMINATED: RunState.CANCELLED,
}
_ENDS = {
    WorkflowExecutionStatus.FAILED: "its workflow failed",
    WorkflowExecutionStatus.TIMED_OUT: "it took too long, and no worker was there to say so",
    WorkflowExecutionStatus.CANCELED: "cancelled",
    WorkflowExecutionStatus.TERMINATED: "cancelled when no worker was there",
}
_OUTCOMES = (RunState.PAUSED, RunState.ENDED, RunState.FAILED, RunState.CANCELLED)


@dataclass(frozen=True, slots=True)
class Known:
    """A workflow, what it remembers, and the order that it began with if that was read."""

    execution: WorkflowExecution
    spec: InvocationSpec
    left: Left

    @classmethod
    def of(cls, execution: WorkflowExecution, memo: Mapping[str, Any], spec: Mapping[str, Any] | None = None) -> Known:
        """What is known by a memo; the spec lacks the words unless the one of the order is given."""
        data = named(dict(spec if spec is not None else memo[known.SPEC_MEMO]), execution.id)
        left = memo.get(known.LEFT_MEMO)
        return cls(execution, InvocationSpec.model_validate(data), Left(**left) if left else Left(state="queued"))

    @property
    def is_open(self) -> bool:
        """Whether it goes on."""
        return self.execution.status == _OPEN

    def ended(self) -> RunRecord:
        """The record of a run that does not go on."""
        status = self.execution.status
        assert status is not None, "Temporal says of each workflow what its status is"
        state = _ENDED.get(status, RunState.FAILED)
        remembered = self.left.state in set(RunState) and self.left.state not in ("queued", "running", "paused")
        if remembered:
            state = RunState(self.left.state)
        reason = self.left.reason if remembered else _ENDS.get(status, "")
        return self.record(state, reason)

    def record(self, state: RunState, reason: str, pending: PendingActivityInfo | None = None) -> RunRecord:
        """The record, with what is so of an activity under way."""
        execution, left = self.execution, self.left
        begun = left.attempts + (_begun(pending) if pending is not None else 0)
        started = left.started
        if started is None and pending is not None and pending.HasField("last_started_time"):
            started = pending.last_started_time.ToMicroseconds() / 1e6
        return RunRecord(
            spec=self.spec,
            state=state,
            attempts=begun,
            worker=(pending.last_worker_identity if pending is not None else "") or left.worker,
            reason=reason,
            submitted=execution.start_time.timestamp(),
            started=started,
            ended=execution.close_time.timestamp() if execution.close_time is not None else None,
            outcome=self._outcome(state),
        )

    def _outcome(self, state: RunState) -> Outcome | None:
        left = self.left
        if state not in _OUTCOMES or left.state != state:
            return None
        return Outcome(state=state, events=left.events, waits_for=tuple(left.waits_for), error=left.error)


async def recorded(client: Client, run: Known, listened: dict[str, bool]) -> RunRecord:
    """The record of a run; `listened` holds what was learned about queues."""
    execution = run.execution
    if not run.is_open:
        return run.ended()
    pending = _pending(execution) if isinstance(execution, WorkflowExecutionDescription) else None
    ending = _ending(execution) if isinstance(execution, WorkflowExecutionDescription) else ""
    if pending is None and run.left.state == RunState.PAUSED:
        waits_for = ", ".join(run.left.waits_for) or "a question"
        return run.record(RunState.PAUSED, ending or f"waits for an answer to {waits_for}")
    is_between = run.left.state == known.STEPPING and (pending is None or is_step(pending))
    if is_between or (pending is not None and is_running(pending)):
        return run.record(RunState.RUNNING, ending or "a worker has it", pending)
    if ending:
        return run.record(RunState.QUEUED, ending)
    nobody = await _nobody(client, run, pending, listened)
    return run.record(RunState.QUEUED, nobody or _waiting(run.left, pending), pending)


async def _nobody(client: Client, run: Known, pending: PendingActivityInfo | None, listened: dict[str, bool]) -> str:
    """What to say if nobody listens to the queue that a run waits in."""
    if run.left.state == known.POSTPONED and pending is None:
        return ""
    queue = run.spec.queue if pending is not None else known.DECISIONS
    if queue not in listened:
        kind = TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY if pending is not None else TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW
        listened[queue] = await has_listener(client, queue, kind)
    if listened[queue]:
        return ""
    if pending is None:
        return "no worker listens to Temporal at all: start `newel worker`"
    spec = run.spec
    return f"no worker has the app {spec.app_name!r} in the version {spec.version!r} with the lock {spec.lock[:16]!r}"


def _waiting(left: Left, pending: PendingActivityInfo | None) -> str:
    """Why a run waits though there are workers."""
    if pending is not None and (failure := _failure(pending)):
        return failure
    if pending is None and left.state == known.POSTPONED:
        return left.reason
    return "waits for a worker that is free" if pending is not None else "a worker decides what is next"


def _failure(pending: PendingActivityInfo) -> str:
    """Which attempt of an activity follows why; empty if it is the first."""
    if not pending.HasField("last_failure"):
        return ""
    return f"attempt {pending.attempt} follows, as the one before failed: {pending.last_failure.message}"


def _ending(description: WorkflowExecutionDescription) -> str:
    """What to say of a run whose open calls are given their results, as it was cancelled or its time is over."""
    for one in description.raw_description.pending_activities:
        if one.activity_type.name == known.CLOSE:
            return ": ".join(filter(None, ("its open calls get their results", _failure(one))))
    return ""


def _pending(description: WorkflowExecutionDescription) -> PendingActivityInfo | None:
    """The activity by which a worker has the run, or is to have it."""
    for one in description.raw_description.pending_activities:
        if one.activity_type.name in (known.RUN, known.BEGIN) or is_step(one):
            return one
    return None


def is_step(pending: PendingActivityInfo) -> bool:
    """Whether it is a step of a run that a worker has."""
    return pending.activity_type.name in known.STEPS.values()


def is_running(pending: PendingActivityInfo) -> bool:
    """Whether a worker has it now."""
    return pending.state in (
        PendingActivityState.PENDING_ACTIVITY_STATE_STARTED,
        PendingActivityState.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED,
    )


def _begun(pending: PendingActivityInfo) -> int:
    if is_step(pending):
        return 0
    return pending.attempt if is_running(pending) else max(pending.attempt - 1, 0)
