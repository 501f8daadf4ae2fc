"""Endings: what the end of a run means to those who wait for it."""

from __future__ import annotations

from newel.engines.engine import TIME_IS_OVER, RunRecord, RunState
from newel.runs import RunCancelledError
from newel_kernel import NewelError, SessionNotFoundError, brief


class RunFailedError(NewelError):
    """The run has failed, or no worker that fits has come; the session's log and `newel runs show` say more."""


class RunMisfitError(RunFailedError):
    """No worker that fits the run has come in time."""


class RunOvertimeError(RunFailedError):
    """The run took longer than its submission allows."""


def ending_of(record: RunRecord) -> NewelError | None:
    """The error that a run has ended with; None if it has ended well, waits, or is not over."""
    run, because = f"the run {brief(record.spec.key)!r}", f": {record.reason}" if record.reason else ""
    if record.state is RunState.CANCELLED:
        return RunCancelledError(f"{run} was cancelled{because if record.reason != 'cancelled' else ''}")
    if record.state is RunState.MISFIT:
        return RunMisfitError(f"{run} is {record.state}{because}")
    if record.state is not RunState.FAILED:
        return None
    if record.outcome is not None and record.outcome.error == SessionNotFoundError.__name__:
        return SessionNotFoundError(f"{run} has lost its session {brief(record.spec.session_id)!r}")
    if record.outcome is not None and record.outcome.error == TIME_IS_OVER and record.reason != TIME_IS_OVER:
        return RunOvertimeError(f"{run} was ended{because}")  # an agent's own error of that name has no other reason
    return RunFailedError(f"{run} is {record.state}{because}")
