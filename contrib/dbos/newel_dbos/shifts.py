"""What workers write: each function is one transaction, and nothing that a lost worker says has an effect."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from newel.engines import TIME_IS_OVER, InvocationSpec, Outcome, RunState
from newel_dbos.book import Page, workflow_id
from newel_dbos.orders import give_up, written

#: How often a run may take its worker with it before it counts as failed.
_MOST_CRASHES = 10
#: Seconds before a run whose work raised an error is handed out again: doubled each time, at most.
_MOST_PATIENCE = 30.0
_MINE = "key = %(key)s AND stretch = %(stretch)s AND executor = %(executor)s AND state = 'running'"
_TAKEN = " RETURNING key, stretch, spec, cancelled, extract(epoch FROM deadline - now())::float8 AS seconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """A run that a worker has, from when it was handed out to when it leaves it."""

    spec: InvocationSpec
    stretch: int
    executor: str
    cancelled: bool = False
    #: Until its deadline; None: it has none.
    seconds: float | None = None

    @property
    def row(self) -> dict[str, Any]:
        """What the tables know it by."""
        return {"key": self.spec.key, "stretch": self.stretch, "executor": self.executor}


def begin(page: Page, key: str, stretch: int, executor: str, worker: str) -> Shift | None:
    """Take a run that was handed out; None: somebody else has it, or it is over."""
    rows = page.query(
        "UPDATE {runs} SET state = 'running', executor = %(executor)s, worker = %(worker)s, attempts = attempts + 1, "
        "started = coalesce(started, now()), reason = '' WHERE key = %(key)s AND stretch = %(stretch)s AND "
        # Its own once more, if the answer to the first attempt was lost.
        "(state = 'queued' OR state = 'running' AND executor = %(executor)s) AND NOT cancelled AND "
        "(deadline IS NULL OR deadline > now())" + _TAKEN,
        key=key,
        stretch=stretch,
        executor=executor,
        worker=worker,
    )
    return _shift(rows[0], executor) if rows else None


def _shift(row: Any, executor: str) -> Shift:
    spec = InvocationSpec.model_validate_json(row.spec)
    return Shift(spec=spec, stretch=row.stretch, executor=executor, cancelled=row.cancelled, seconds=row.seconds)


def finish(page: Page, shift: Shift, outcome: Outcome, reason: str) -> None:
    """Write how a run has paused or ended."""
    rows = page.query(
        "UPDATE {runs} SET state = %(state)s, outcome = %(outcome)s, reason = %(reason)s, failures = 0, "
        "crashes = 0, ended = CASE WHEN %(state)s = 'paused' THEN NULL ELSE now() END WHERE "
        + _MINE
        + " RETURNING signalled",
        **shift.row,
        state=outcome.state.value,
        outcome=written(outcome),
        reason=reason,
    )
    if rows and rows[0].signalled and outcome.state is RunState.PAUSED:
        where = "key = %(key)s AND state = 'paused' AND NOT cancelled"
        page.hand_out(where, ", signalled = false", key=shift.spec.key)


def postpone(page: Page, shift: Shift, seconds: float, reason: str) -> None:
    """Hand a run out again later; what was begun counts as no attempt."""
    page.query(
        "UPDATE {runs} SET state = 'queued', attempts = attempts - 1, reason = %(reason)s, waits = now(), "
        "due = now() + %(seconds)s::float8 * interval '1 second' WHERE " + _MINE,
        **shift.row,
        seconds=max(seconds, 0.0),
        reason=reason,
    )


def fail(page: Page, shift: Shift, reason: str) -> None:
    """Hand out again, after a while, a run whose work raised an error that is worth another attempt."""
    page.query(
        "UPDATE {runs} SET state = 'queued', failures = failures + 1, reason = %(reason)s, waits = now(), "
        "due = now() + least(power(2, least(failures, 10)), %(most)s) * interval '1 second' WHERE " + _MINE,
        **shift.row,
        reason=reason,
        most=_MOST_PATIENCE,
    )


def release(page: Page, shift: Shift) -> None:
    """Hand out again a run that its worker gives up."""
    page.hand_out(_MINE, ", reason = 'its worker was stopped'", **shift.row)


def let_go(page: Page, key: str, stretch: int, executor: str) -> None:
    """Hand out again a run of a process in which no worker has it any more."""
    page.hand_out(_MINE, ", reason = 'its worker was cut off'", key=key, stretch=stretch, executor=executor)


def give_back(page: Page, key: str, stretch: int, *, stale: bool = False) -> None:
    """Hand out again a run that came to a worker without room for it."""
    where = "key = %(key)s AND stretch = %(stretch)s AND state = 'queued'"
    page.hand_out(where, stale=stale, key=key, stretch=stretch)


def beat(page: Page, executor: str, queues: Collection[str]) -> bool:
    """Say that a worker is there; False: others have taken it for dead meanwhile."""
    seconds = page.access.heartbeat
    later = "now() + %(seconds)s::float8 * interval '1 second'"
    known = page.query(
        "UPDATE {workers} SET lapses = " + later + " WHERE executor = %(executor)s RETURNING executor",
        executor=executor,
        seconds=seconds,
    )
    if not known:
        page.query(
            "INSERT INTO {workers} (executor, lapses) VALUES (%(executor)s, " + later + ") ON CONFLICT DO NOTHING",
            executor=executor,
            seconds=seconds,
        )
    page.query(
        "INSERT INTO {queues} (queue, lapses) SELECT q, " + later + " FROM unnest(%(queues)s::text[]) AS q ORDER BY q "
        "ON CONFLICT (queue) DO UPDATE SET lapses = greatest({queues}.lapses, excluded.lapses)",
        queues=list(queues),
        seconds=seconds,
    )
    give_up(page)
    return bool(known)


@dataclass(frozen=True, slots=True)
class Chores:
    """What is to be done about runs that no worker has."""

    dead: bool
    due: bool
    over: bool


def look(page: Page, executor: str, has: bool) -> tuple[dict[str, tuple[int, bool]], Chores]:
    """The stretch of each run that a worker `has`, and whether it is cancelled, by key; and what is to be done."""
    running = "SELECT key, stretch, cancelled FROM {runs} WHERE state = 'running' AND executor = %(executor)s"
    rows = page.query(running, executor=executor) if has else ()
    (row,) = page.query(
        "SELECT EXISTS (SELECT FROM {workers} WHERE lapses < now()), "
        "EXISTS (SELECT FROM {runs} WHERE state = 'queued' AND due <= now()), "
        "EXISTS (SELECT FROM {runs} WHERE state IN ('queued', 'paused') AND cancelled) OR "
        "EXISTS (SELECT FROM {runs} WHERE state IN ('queued', 'paused') AND deadline <= now())"
    )
    return {row.key: (row.stretch, row.cancelled) for row in rows}, Chores(*row)


def dead(page: Page) -> list[str]:
    """The workers that have been silent for too long."""
    return [row.executor for row in page.query("SELECT executor FROM {workers} WHERE lapses < now()")]


def bury(page: Page, executor: str, handed: Sequence[tuple[str, int]], *, stopped: bool = False) -> None:
    """Hand out again what a worker had that is gone, unless somebody else does.

    `handed` are the runs that DBOS gave it and that it may not have begun. A worker that has `stopped` by itself is
    gone without having been silent.
    """
    over = "" if stopped else " AND lapses < now()"
    gone = page.query(
        "DELETE FROM {workers} WHERE executor = (SELECT executor FROM {workers} WHERE executor = %(executor)s"
        + over
        + " FOR UPDATE SKIP LOCKED) RETURNING executor",
        executor=executor,
    )
    if not gone:
        return
    running = "state = 'running' AND executor = %(executor)s"
    crashed = ", crashes = crashes + 1, reason = 'its worker was lost'"
    if stopped:
        crashed = ", reason = 'its worker was stopped'"
    else:
        page.query(
            "UPDATE {runs} SET state = 'failed', ended = now(), outcome = %(outcome)s, reason = 'its workers were lost "
            "too often' WHERE crashes >= %(most)s AND " + running,
            executor=executor,
            most=_MOST_CRASHES,
            outcome=written(Outcome(state=RunState.FAILED, error="WorkerLostError")),
        )
    page.hand_out(running, crashed, stale=True, executor=executor)
    for key, stretch in handed:
        give_back(page, key, stretch, stale=True)


def hand_out_due(page: Page) -> None:
    """Hand out again what was put off until now."""
    page.hand_out("state = 'queued' AND due <= now() AND NOT cancelled")


def take_over(page: Page, executor: str, worker: str, queues: Collection[str]) -> list[Shift]:
    """Take runs of these queues that are to end although no worker has them, past their place in the queue."""
    late = "state = 'queued' AND attempts = 0 AND deadline <= now()"
    rows = page.query(
        "UPDATE {runs} SET state = 'failed', ended = now(), due = NULL, outcome = %(outcome)s, "
        "reason = 'its deadline passed before it began' WHERE " + late + " RETURNING key, stretch",
        outcome=written(Outcome(state=RunState.FAILED, error=TIME_IS_OVER)),
    )
    page.stale += [workflow_id(row.key, row.stretch) for row in rows]
    rows = page.query(
        "UPDATE {runs} SET state = 'running', executor = %(executor)s, worker = %(worker)s, due = NULL, "
        "stretch = stretch + 1 WHERE key IN (SELECT key FROM {runs} WHERE state IN ('queued', 'paused') AND "
        "(cancelled OR deadline <= now()) AND queue = ANY(%(queues)s::text[]) ORDER BY number LIMIT 50 "
        "FOR UPDATE SKIP LOCKED)" + _TAKEN,
        executor=executor,
        worker=worker,
        queues=list(queues),
    )
    page.stale += [workflow_id(row.key, row.stretch - 1) for row in rows]
    return [_shift(row, executor) for row in rows]
