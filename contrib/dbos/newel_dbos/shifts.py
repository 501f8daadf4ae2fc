"""What workers write: each function is one transaction, and nothing that a lost worker says has an effect."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from newel.engines import TIME_IS_OVER, InvocationSpec, Outcome, RunState
from newel_dbos.book import MOST, TURN, WORKFLOW_ID, Page, session_of, workflow_id
from newel_dbos.orders import drop, written
from newel_dbos.specs import UnreadableSpecError, spec_of

#: How often a run may take its worker with it before it counts as failed.
_MOST_CRASHES = 10
#: Seconds before a run whose work raised an error is handed out again: doubled each time, at most.
_MOST_PATIENCE = 30.0
#: How often the closing of a run's open calls is put off, at most: for about an hour, as while a store is away.
_MOST_CLOSINGS = 120
_LATER = "now() + %(seconds)s::float8 * interval '1 second'"
_OWN = "stretch = %(stretch)s AND executor = %(executor)s AND state = 'running'"
_MINE = "key = %(key)s AND " + _OWN
_TAKEN = " RETURNING key, session, stretch, spec, cancelled, extract(epoch FROM deadline - now())::float8 AS seconds"
_MAY_CLOSE = "(closes IS NULL OR closes <= now())"
_ALIVE = "(SELECT executor FROM {workers})"
#: A run `r` that a worker had which is gone.
_LEFT = "r.state = 'running' AND r.executor NOT IN " + _ALIVE
#: A run `r` that waits, and that nobody will hand out: DBOS's columns are documented as its "system tables".
_FORGOTTEN = (
    "r.state = 'queued' AND r.due IS NULL AND r.closes IS NULL AND NOT r.cancelled AND CASE WHEN r.line THEN "
    + TURN
    + " ELSE NOT EXISTS (SELECT FROM {workflows} AS w WHERE w.workflow_uuid = "
    + WORKFLOW_ID
    + " AND (w.status IN ('ENQUEUED', 'DELAYED') OR w.status = 'PENDING' AND w.executor_id IN "
    + _ALIVE
    + ")) END"
)


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
    """Take a run that was handed out; None: somebody else has it, it is over, or another one of its session goes first.

    Whoever was taken for dead meanwhile is alive with that: a run must not be had by somebody whose end nobody awaits.
    """
    _be_there(page, executor)
    page.lock_session_of(key)
    named = {"key": key, "stretch": stretch, "executor": executor, "worker": worker}
    handed = "key = %(key)s AND stretch = %(stretch)s AND NOT cancelled AND (deadline IS NULL OR deadline > now()) AND "
    rows = page.query(
        "UPDATE {runs} AS r SET state = 'running', executor = %(executor)s, worker = %(worker)s, "
        "attempts = attempts + 1, started = coalesce(started, now()), reason = '' WHERE "
        + handed
        # Its own once more, if the answer to the first attempt was lost.
        + "(state = 'running' AND executor = %(executor)s OR state = 'queued' AND "
        + TURN
        + ")"
        + _TAKEN,
        **named,
    )
    if rows:
        return next(iter(_shifts(page, rows, executor)), None)
    page.query("UPDATE {runs} AS r SET line = true WHERE " + handed + "state = 'queued'", **named)
    return None


def _shifts(page: Page, rows: Iterable[Any], executor: str) -> list[Shift]:
    """The shifts of runs that were taken just now. One whose spec cannot be read ends as failed, by itself."""
    shifts = []
    for row in rows:
        try:
            spec = spec_of(row)
        except UnreadableSpecError as error:
            _end_unreadable(page, row, error)
            continue
        left = {"cancelled": row.cancelled, "seconds": row.seconds}
        shifts.append(Shift(spec=spec, stretch=row.stretch, executor=executor, **left))
    return shifts


def _end_unreadable(page: Page, row: Any, error: UnreadableSpecError) -> None:
    page.query(
        "UPDATE {runs} SET state = 'failed', ended = now(), outcome = %(outcome)s, reason = %(reason)s "
        "WHERE key = %(key)s",
        key=row.key,
        outcome=written(Outcome(state=RunState.FAILED, error=type(error).__name__)),
        reason=_storable(str(error)),
    )
    page.next_in(row.session)


def _storable(text: str) -> str:
    """A text of somebody's error, with a question mark for what PostgreSQL cannot keep."""
    return text.replace("\0", "?").encode(errors="replace").decode()


def finish(page: Page, shift: Shift, outcome: Outcome, reason: str) -> None:
    """Write how a run has paused or ended."""
    page.lock_session(session_of(shift.spec))
    rows = page.query(
        "UPDATE {runs} SET state = %(state)s, outcome = %(outcome)s, reason = %(reason)s, failures = 0, "
        "crashes = 0, ended = CASE WHEN %(state)s = 'paused' THEN NULL ELSE now() END WHERE "
        + _MINE
        + " RETURNING signalled, session",
        **shift.row,
        state=outcome.state.value,
        outcome=written(outcome),
        reason=_storable(reason),
    )
    if rows and rows[0].signalled and outcome.state is RunState.PAUSED:
        page.hand_out("state = 'paused' AND NOT cancelled", ", signalled = false", key=shift.spec.key)
    if rows:
        page.next_in(rows[0].session)


def postpone(page: Page, shift: Shift, seconds: float, reason: str) -> None:
    """Hand a run out again later; what was begun counts as no attempt."""
    _put_back(page, shift, reason, "attempts = attempts - 1, due = " + _LATER, seconds=max(seconds, 0.0))


def fail(page: Page, shift: Shift, reason: str) -> None:
    """Hand out again, after a while, a run whose work raised an error that is worth another attempt."""
    later = "least(power(2, least(failures, 10)), %(most)s) * interval '1 second'"
    _put_back(page, shift, reason, "failures = failures + 1, due = now() + " + later, most=_MOST_PATIENCE)


def close_later(page: Page, shift: Shift, trouble: str) -> bool:
    """Leave a run that is cancelled or late, with calls that may be open, to `take_over`.

    It is soon, or after a while if there was `trouble` with closing them; False: that was so too often.
    """
    seconds = "least(power(2, least(closings, 10)), %(most)s)" if trouble else "0"
    sets = "closings = closings + 1, due = NULL, closes = now() + " + seconds + " * interval '1 second'"
    where = " AND closings < %(tries)s"
    return _put_back(page, shift, trouble, sets, where, most=_MOST_PATIENCE, tries=_MOST_CLOSINGS)


def _put_back(page: Page, shift: Shift, reason: str, sets: str, where: str = "", **named: Any) -> bool:
    """Queue a run that its worker leaves, and have another one of its session go if it is its turn now."""
    page.lock_session(session_of(shift.spec))
    rows = page.query(
        "UPDATE {runs} SET state = 'queued', reason = %(reason)s, waits = now(), "
        + sets
        + " WHERE "
        + _MINE
        + where
        + " RETURNING session",
        **shift.row,
        **named,
        reason=_storable(reason),
    )
    for row in rows:
        page.next_in(row.session)
    return bool(rows)


def release(page: Page, shift: Shift) -> None:
    """Hand out again a run that its worker gives up."""
    _hand_on(page, "stopped", **shift.row)


def let_go(page: Page, key: str, stretch: int, executor: str) -> None:
    """Hand out again a run of a process in which no worker has it any more."""
    _hand_on(page, "cut off", key=key, stretch=stretch, executor=executor)


def _hand_on(page: Page, how: str, **named: Any) -> None:
    for row in page.hand_out(_OWN, f", reason = 'its worker was {how}'", **named):
        page.next_in(row.session)


def give_back(page: Page, key: str, stretch: int, *, stale: bool = False) -> None:
    """Hand out again a run that came to a worker without room for it."""
    page.hand_out("stretch = %(stretch)s AND state = 'queued' AND due IS NULL", stale=stale, key=key, stretch=stretch)


def beat(page: Page, executor: str, queues: Collection[str]) -> None:
    """Say that a worker is there for these queues, again if others have taken it for dead meanwhile."""
    _appear(page, executor)
    page.query(
        "INSERT INTO {queues} (queue, lapses) SELECT q, " + _LATER + " FROM unnest(%(queues)s::text[]) AS q ORDER BY q "
        "ON CONFLICT (queue) DO UPDATE SET lapses = greatest({queues}.lapses, excluded.lapses)",
        queues=list(queues),
        seconds=page.access.heartbeat,
    )


def _appear(page: Page, executor: str) -> None:
    page.query(
        "INSERT INTO {workers} AS w (executor, lapses) VALUES (%(executor)s, "
        + _LATER
        + ") ON CONFLICT (executor) DO UPDATE SET lapses = excluded.lapses",
        executor=executor,
        seconds=page.access.heartbeat,
    )


def _be_there(page: Page, executor: str) -> None:
    """Have nobody take a worker for dead before the transaction has ended."""
    held = "SELECT executor FROM {workers} WHERE executor = %(executor)s FOR KEY SHARE"
    if not page.query(held, executor=executor):
        _appear(page, executor)


@dataclass(frozen=True, slots=True)
class Chores:
    """What is to be done about runs that no worker has."""

    dead: bool
    due: bool
    over: bool
    left: bool


def look(page: Page, executor: str, has: bool) -> tuple[dict[str, tuple[int, bool]], Chores]:
    """The stretch of each run that a worker `has`, and whether it is cancelled, by key; and what is to be done."""
    running = "SELECT key, stretch, cancelled FROM {runs} WHERE state = 'running' AND executor = %(executor)s"
    rows = page.query(running, executor=executor) if has else ()
    (row,) = page.query(
        "SELECT EXISTS (SELECT FROM {workers} WHERE lapses < now()), "
        "EXISTS (SELECT FROM {runs} WHERE state = 'queued' AND due <= now()) OR "
        "EXISTS (SELECT FROM {runs} WHERE state = 'paused' AND looks <= now()), "
        "EXISTS (SELECT FROM {runs} WHERE state IN ('queued', 'paused') AND cancelled AND " + _MAY_CLOSE + ") OR "
        "EXISTS (SELECT FROM {runs} WHERE state IN ('queued', 'paused') AND deadline <= now() AND " + _MAY_CLOSE + "), "
        "EXISTS (SELECT FROM {runs} AS r WHERE " + _LEFT + ")"
    )
    return {row.key: (row.stretch, row.cancelled) for row in rows}, Chores(*row)


def bury(page: Page) -> None:
    """Take for dead who has been silent for too long; not who begins a run just now."""
    silent = "SELECT executor FROM {workers} WHERE lapses < now() FOR UPDATE SKIP LOCKED"
    page.query("DELETE FROM {workers} WHERE executor IN (" + silent + ")")


def leave(page: Page, executor: str) -> None:
    """Say that a worker is gone, and hand out what it had."""
    page.query("DELETE FROM {workers} WHERE executor = %(executor)s", executor=executor)
    stopped = ", reason = 'its worker was stopped'"
    page.hand_out("state = 'running' AND executor = %(executor)s", stopped, stale=True, executor=executor)
    recover(page)


def is_first(page: Page, executor: str) -> bool:
    """Whether it is this worker, of those that are there, that looks for what all others have overlooked."""
    rows = page.query("SELECT min(executor) AS executor FROM {workers} WHERE lapses > now()")
    return bool(rows[0].executor == executor)


def recover(page: Page) -> bool:
    """Hand out again the runs that no worker has and none will get; True: there may be more of them.

    It goes by what the tables have, not by what has happened: a row that was in use, a claim after its worker was
    taken for dead, a process that ended between two transactions are found the next time.
    """
    page.query(
        "UPDATE {runs} SET state = 'failed', ended = now(), outcome = %(outcome)s, reason = 'its workers were lost "
        "too often' WHERE key IN (SELECT key FROM {runs} AS r WHERE crashes >= %(most)s AND "
        + _LEFT
        + " FOR UPDATE SKIP LOCKED)",
        most=_MOST_CRASHES,
        outcome=written(Outcome(state=RunState.FAILED, error="WorkerLostError")),
    )
    crashed = page.hand_out(_LEFT, ", crashes = crashes + 1, reason = 'its worker was lost'", stale=True)
    forgotten = page.hand_out(_FORGOTTEN, stale=True)
    return len(crashed) == MOST or len(forgotten) == MOST


def forget(page: Page) -> bool:
    """Remove runs that have ended long ago, and queues that nobody has worked since; True: there may be more."""
    long_ago = "now() - %(keep)s::float8 * interval '1 second'"
    rows = page.query(
        "SELECT key, stretch FROM {runs} WHERE ended < " + long_ago + " ORDER BY ended LIMIT %(most)s "
        "FOR UPDATE SKIP LOCKED",
        keep=page.access.keep,
        most=MOST,
    )
    if rows:
        page.remove([workflow_id(row.key, at) for row in rows for at in range(1, row.stretch + 1)])
        page.query("DELETE FROM {runs} WHERE key = ANY(%(keys)s)", keys=[row.key for row in rows])
    queues = page.query(
        "DELETE FROM {queues} AS q WHERE lapses < now() - %(seconds)s::float8 * interval '1 second' AND NOT EXISTS "
        "(SELECT FROM {runs} AS r WHERE r.queue = q.queue AND r.ended IS NULL) RETURNING queue",
        seconds=max(page.access.keep, page.access.misfit),
    )
    page.remove_queues(row.queue for row in queues)
    return len(rows) == MOST


def hand_out_due(page: Page) -> None:
    """Hand out again what was put off until now, and what may have been answered by now."""
    page.hand_out("state = 'queued' AND due <= now() AND NOT cancelled")
    page.hand_out("state = 'paused' AND looks <= now() AND NOT cancelled", ", looks = NULL, signalled = false")


def take_over(page: Page, executor: str, worker: str, queues: Collection[str]) -> list[Shift]:
    """Take runs of these queues that are to end although no worker has them, past their place in the queue."""
    _be_there(page, executor)
    late = "state = 'queued' AND started IS NULL AND deadline <= now()"
    rows = page.query(
        "UPDATE {runs} SET state = 'failed', ended = now(), due = NULL, outcome = %(outcome)s, "
        "reason = 'its deadline passed before it began' WHERE key IN (SELECT key FROM {runs} WHERE "
        + late
        + " FOR UPDATE SKIP LOCKED) RETURNING key, stretch, session",
        outcome=written(Outcome(state=RunState.FAILED, error=TIME_IS_OVER)),
    )
    drop(page, rows)
    rows = page.query(
        "UPDATE {runs} SET state = 'running', executor = %(executor)s, worker = %(worker)s, due = NULL, line = false, "
        "stretch = stretch + 1 WHERE key IN (SELECT key FROM {runs} WHERE state IN ('queued', 'paused') AND "
        "(cancelled OR deadline <= now()) AND " + _MAY_CLOSE + " AND queue = ANY(%(queues)s::text[]) "
        "ORDER BY number LIMIT 50 FOR UPDATE SKIP LOCKED)" + _TAKEN,
        executor=executor,
        worker=worker,
        queues=list(queues),
    )
    page.stale += [workflow_id(row.key, row.stretch - 1) for row in rows]
    return _shifts(page, rows, executor)
