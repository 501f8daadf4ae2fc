"""What submitters order and read: each function is one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from newel.engines import (
    OVER,
    InvocationSpec,
    Outcome,
    RunNotFoundError,
    RunRecord,
    RunState,
    check_same,
    spec_json,
)
from newel.engines.places import Place
from newel_dbos.book import TURN, Page, served, session_name, session_of, workflow_id
from newel_dbos.specs import UnreadableSpecError, known_of, spec_of

_RECORD = (
    "SELECT key, app_name, queue, spec, state, attempts, worker, reason, outcome, cancelled, line, "
    + served("r")
    + " AS served, extract(epoch FROM submitted)::float8 AS submitted, extract(epoch FROM started)::float8 AS started, "
    "extract(epoch FROM ended)::float8 AS ended FROM {runs} AS r "
)


def submit(page: Page, spec: InvocationSpec) -> RunRecord:
    """See `BaseEngine.submit`."""
    session = session_of(spec)
    page.lock_session(session)
    rows = page.query(
        "INSERT INTO {runs} (key, app_name, queue, spec, tenant, priority, deadline, session, line) SELECT key, "
        "%(app)s, %(queue)s, %(spec)s, %(tenant)s, %(priority)s, now() + %(seconds)s::float8 * interval '1 second', "
        "session, NOT " + TURN + " FROM "
        "(SELECT %(key)s::text AS key, %(queue)s::text AS queue, %(session)s::text AS session, "
        "9223372036854775807 AS number) AS r "
        "ON CONFLICT (key) DO NOTHING RETURNING line",
        key=spec.key,
        app=spec.app_name,
        queue=spec.queue,
        spec=spec_json(spec),
        tenant=spec.tenant,
        priority=spec.priority,
        seconds=spec.seconds,
        session=session,
    )
    if rows and not rows[0].line:
        row = {"key": spec.key, "stretch": 1, "queue": spec.queue, "tenant": spec.tenant, "priority": spec.priority}
        page.enqueue([row])
    record = _only(page, spec.key)
    if not rows:
        check_same(record.spec, spec)
    return record


def signal(page: Page, key: str, seconds: float = 0.0) -> None:
    """See `BaseEngine.signal`."""
    row = _locked(page, key)
    if seconds > 0:
        later = "now() + %(seconds)s::float8 * interval '1 second'"
        page.query(
            "UPDATE {runs} SET looks = greatest(looks, " + later + ") WHERE key = %(key)s", key=key, seconds=seconds
        )
    elif row.state == "paused" and not row.cancelled:
        page.hand_out("state = 'paused'", ", signalled = false", key=key)
    elif row.state == "running":
        # The answer may be there just before the run says that it pauses.
        page.query("UPDATE {runs} SET signalled = true WHERE key = %(key)s", key=key)


def cancel(page: Page, key: str) -> None:
    """See `BaseEngine.cancel`. What a worker has begun is left to a worker, which ends its open calls."""
    row = _locked(page, key)
    if row.state == "queued" and row.started is None:
        rows = page.query(
            "UPDATE {runs} SET state = 'cancelled', cancelled = true, ended = now(), due = NULL, reason = 'cancelled "
            "before it began', outcome = %(outcome)s WHERE key = %(key)s RETURNING key, stretch, session",
            key=key,
            outcome=written(Outcome(state=RunState.CANCELLED)),
        )
        drop(page, rows)
    elif RunState(row.state) not in OVER:
        page.query("UPDATE {runs} SET cancelled = true WHERE key = %(key)s", key=key)


def retry(page: Page, key: str) -> None:
    """See `BaseEngine.retry`."""
    spec = spec_of(_locked(page, key))
    again = spec.model_copy(update={"attempt": spec.attempt + 1})
    page.hand_out(
        "state IN ('failed', 'cancelled', 'misfit')",
        ", spec = %(spec)s, cancelled = false, signalled = false, looks = NULL, failures = 0, crashes = 0, "
        "closings = 0, closes = NULL, reason = '', outcome = NULL, ended = NULL, "
        "deadline = now() + %(seconds)s::float8 * interval '1 second'",
        key=key,
        spec=spec_json(again),
        seconds=spec.seconds,
    )


def one(page: Page, key: str) -> RunRecord | None:
    """See `BaseEngine.record`."""
    give_up(page, key=key)
    rows = page.query(_RECORD + "WHERE key = %(key)s", key=key)
    return _record(rows[0]) if rows else None


def several(
    page: Page, app_name: str | None, state: RunState | None, session: Place | None, most: int
) -> list[RunRecord]:
    """See `BaseEngine.records`."""
    give_up(page)
    rows = page.query(
        _RECORD + "WHERE (%(app)s::text IS NULL OR app_name = %(app)s) AND (%(state)s::text IS NULL OR "
        "state = %(state)s) AND (%(session)s::text IS NULL OR session = %(session)s) ORDER BY number DESC "
        "LIMIT %(most)s",
        app=app_name,
        state=None if state is None else state.value,
        session=None if session is None else session_name(session),
        most=most,
    )
    return [_record(row) for row in rows]


def give_up(page: Page, key: str | None = None) -> None:
    """End the runs for which no worker that fits came in time."""
    rows = page.query(
        "UPDATE {runs} SET state = 'misfit', ended = now(), due = NULL, reason = 'VersionMismatch: no worker for '"
        " || queue || ' came in time' WHERE key IN (SELECT key FROM {runs} AS r WHERE state = 'queued' AND "
        "(%(key)s::text IS NULL OR key = %(key)s) AND waits < now() - %(misfit)s::float8 * interval '1 second' AND "
        "NOT EXISTS (SELECT FROM {queues} AS q WHERE q.queue = r.queue AND "
        "q.lapses > now() - %(misfit)s::float8 * interval '1 second') FOR UPDATE SKIP LOCKED) "
        "RETURNING key, stretch, session",
        key=key,
        misfit=page.access.misfit,
    )
    drop(page, rows)


def drop(page: Page, ended: Iterable[Any]) -> None:
    """Take runs that have ended without a worker out of DBOS's queue, and have the next of their sessions go."""
    for row in ended:
        page.stale.append(workflow_id(row.key, row.stretch))
        page.next_in(row.session)


def _locked(page: Page, key: str) -> Any:
    """The row of a run as it is once others have done with it: what is decided by it holds until the commit."""
    if (row := page.lock(key)) is None:
        raise _unknown(key)
    return row


def _only(page: Page, key: str) -> RunRecord:
    rows = page.query(_RECORD + "WHERE key = %(key)s", key=key)
    if not rows:
        raise _unknown(key)
    return _record(rows[0])


def _unknown(key: str) -> RunNotFoundError:
    return RunNotFoundError(f"the engine has no run {key!r}")


def _record(row: Any) -> RunRecord:
    try:
        spec, reason = spec_of(row), _reason(row)
    except UnreadableSpecError as error:
        spec, reason = known_of(row), str(error)
    return RunRecord(
        spec=spec,
        state=RunState(row.state),
        attempts=row.attempts,
        worker=row.worker,
        reason=reason,
        submitted=row.submitted,
        started=row.started,
        ended=row.ended,
        outcome=read(row.outcome),
    )


def _reason(row: Any) -> str:
    text: str = row.reason
    if row.state not in ("queued", "paused", "running"):
        return text
    if row.cancelled:
        return "it is being cancelled"
    if row.state == "queued" and not row.served:
        return f"no worker for {row.queue} is there"
    if row.state == "queued" and row.line:
        return "it waits for another run of its session"
    if row.state == "queued" and not text:
        return "it waits for a free worker"
    return text


def written(outcome: Outcome) -> str:
    """An outcome as the tables have it."""
    return json.dumps([outcome.state.value, outcome.events, list(outcome.waits_for), outcome.error])


def read(text: str | None) -> Outcome | None:
    """An outcome from the tables."""
    if text is None:
        return None
    state, events, waits_for, error = json.loads(text)
    return Outcome(state=RunState(state), events=events, waits_for=tuple(waits_for), error=error)
