"""`newel runs`: what an engine knows about its runs, with what the log has of them; cancel, retry and answer them."""

from __future__ import annotations

from collections.abc import Sequence

import click

from newel.cli.ages import minute_of
from newel.cli.answers import answers_to, check_answers
from newel.cli.bill import Bill
from newel.cli.engine_options import EngineRuns, engine_options, with_engine
from newel.cli.loading import OpenGroup
from newel.cli.open_questions import description_of, questions_of
from newel.cli.terminal import say, show_json, show_table, shown, to_terminal
from newel.engines import OVER, RunRecord, RunState
from newel.questions.given_answers import open_in
from newel.questions.question import Question
from newel_kernel import Event, Json


@click.group("runs", cls=OpenGroup)
def runs() -> None:
    """Show and change the runs of AGENT that an engine has. An id may be shortened as long as it is unique."""


@runs.command("list")
@engine_options
@click.option("--state", type=click.Choice([str(one) for one in RunState]), help="Only runs in this state.")
@click.option("--most", type=click.IntRange(1), default=100, show_default=True, help="How many, the newest first.")
@click.pass_context
def list_runs(
    ctx: click.Context, agent: str, state: str | None, most: int, sessions: str | None, engine: str | None
) -> None:
    """List the runs, the newest first; a table on a terminal, else JSON."""

    async def work(runs: EngineRuns) -> Sequence[RunRecord]:
        wanted = RunState(state) if state is not None else None
        return await runs.engine.records(app_name=runs.runner.app_name, state=wanted, most=most)

    records = with_engine(ctx, agent, sessions, engine, work)
    if not to_terminal():
        show_json([_facts(one) for one in records])
        return
    rows = [
        [one.spec.invocation_id, str(one.state), minute_of(one.submitted), str(one.attempts), one.worker, one.reason]
        for one in records
    ]
    show_table(f"runs of {agent}", ("run", "state", "submitted", "attempts", "worker", "reason"), rows)


@runs.command("show")
@engine_options
@click.argument("run")
@click.pass_context
def show(ctx: click.Context, agent: str, run: str, sessions: str | None, engine: str | None) -> None:
    """Show where a run is, why it waits, who has it, and what it took so far; JSON unless stdout is a terminal."""

    async def work(runs: EngineRuns) -> tuple[RunRecord, list[Event]]:
        record = await runs.named(run)
        spec = record.spec
        where = {"app_name": spec.app_name, "user_id": spec.user_id, "session_id": spec.session_id}
        session = await runs.runner.session_service.get_session(**where)  # type: ignore[arg-type]
        events = [*session.events] if session is not None else []
        return record, [event for event in events if event.invocation_id == spec.invocation_id]

    record, events = with_engine(ctx, agent, sessions, engine, work)
    facts = _facts(record) | _from_log(events)
    if not to_terminal():
        show_json(facts)
        return
    for name, value in facts.items():
        if value not in (None, "", []):
            say(f"{name}: {'; '.join(map(shown, value)) if isinstance(value, list) else shown(value)}")


@runs.command("cancel")
@engine_options
@click.argument("run")
@click.pass_context
def cancel(ctx: click.Context, agent: str, run: str, sessions: str | None, engine: str | None) -> None:
    """End a run, whether it is queued, running or paused. Status 1: it was over already."""

    async def work(runs: EngineRuns) -> int:
        record = await runs.named(run)
        spec = record.spec
        if record.state in OVER:
            return _unchanged(record, f"is over already: {record.state}")
        where = {"user_id": spec.user_id, "session_id": spec.session_id}
        await runs.runner.cancel_run(**where, invocation_id=spec.invocation_id)
        return _changed(record, "is being cancelled")

    ctx.exit(with_engine(ctx, agent, sessions, engine, work))


@runs.command("retry")
@engine_options
@click.argument("run")
@click.pass_context
def retry(ctx: click.Context, agent: str, run: str, sessions: str | None, engine: str | None) -> None:
    """Run a run again, from its log, that failed, was cancelled, or found no worker that fits. Status 1: it did not."""

    async def work(runs: EngineRuns) -> int:
        record = await runs.named(run)
        if record.state is RunState.ENDED:
            return _unchanged(record, "has ended well: there is nothing to retry")
        if record.state not in OVER:
            return _unchanged(record, f"is not over, but {record.state}: it is not retried")
        await runs.engine.retry(record.spec.key)
        return _changed(record, "is queued again")

    ctx.exit(with_engine(ctx, agent, sessions, engine, work))


@runs.command("signal")
@engine_options
@click.argument("run")
@click.option("--answer", "answers", multiple=True, metavar="CALL_ID=ANSWER", help="Store an answer. May be repeated.")
@click.pass_context
def signal(
    ctx: click.Context, agent: str, run: str, answers: tuple[str, ...], sessions: str | None, engine: str | None
) -> None:
    """Answer a run that waits, or say that its answer is stored. Status 1: it does not wait, or an answer lacks.

    A credential comes from stdin (CALL_ID=-) or from a file (CALL_ID=@FILE), and is sealed by the credential service.
    """
    texts = check_answers(answers, run)

    async def work(runs: EngineRuns) -> int:
        record = await runs.named(run)
        spec = record.spec
        if record.state in OVER:
            return _unchanged(record, f"is over, and takes no answer: {record.state}")
        if record.state is not RunState.PAUSED and not texts:
            return _unchanged(record, f"is {record.state}: it waits for no answer")
        conversation = runs.conversation(spec.user_id, spec.session_id)
        waiting = [one for one in await questions_of(conversation) or () if one.invocation_id == spec.invocation_id]
        if not texts:
            asked = record.outcome.waits_for if record.outcome is not None else ()
            if left := [one.id for one in waiting if one.id in asked]:
                return _unchanged(record, f"waits for {', '.join(left)}: give --answer {left[0]}=ANSWER")
            await runs.engine.signal(spec.key)
            return _changed(record, "goes on")
        if strangers := texts.keys() - {one.id for one in waiting}:
            return _unchanged(record, f"does not wait for {', '.join(sorted(strangers))}{_open(waiting)}")
        message = await answers_to(conversation, texts)
        await runs.runner.submit(user_id=spec.user_id, session_id=spec.session_id, new_message=message)
        return _changed(record, "goes on")

    ctx.exit(with_engine(ctx, agent, sessions, engine, work))


def _open(waiting: Sequence[Question]) -> str:
    return f"; open: {', '.join(one.id for one in waiting)}" if waiting else "; nothing is open"


def _changed(record: RunRecord, what: str) -> int:
    """Say what becomes of a run; the status."""
    say(f"{shown(record.spec.invocation_id)} {shown(what)}")
    return 0


def _unchanged(record: RunRecord, what: str) -> int:
    """Say why a run is as it was; the status."""
    say(f"{shown(record.spec.invocation_id)} {shown(what)}", err=True)
    return 1


def _facts(record: RunRecord) -> Json:
    """What the engine knows."""
    spec = record.spec
    facts: Json = {"run": spec.invocation_id, "state": str(record.state), "reason": record.reason, "why": why(record)}
    facts |= {"session": spec.session_id, "user": spec.user_id, "tenant": spec.tenant, "queue": spec.queue}
    facts |= {"version": spec.version, "priority": spec.priority, "attempts": record.attempts, "worker": record.worker}
    facts |= {"submitted": record.submitted, "started": record.started, "ended": record.ended}
    return facts | {"error": record.outcome.error if record.outcome is not None else ""}


def why(record: RunRecord) -> str:
    """Where the run is and what it waits for, in a sentence."""
    because, worker = f" ({record.reason})" if record.reason else "", record.worker or "a worker"
    match record.state:
        case RunState.QUEUED if not record.attempts:
            return f"it waits for a worker of the queue {record.spec.queue}{because}"
        case RunState.QUEUED:
            return f"it waits for a worker to go on with it{because}; {worker} had it last"
        case RunState.RUNNING:
            return f"{worker} runs it, the attempt {record.attempts}{because}"
        case RunState.PAUSED:
            return f"it waits for an answer, and no worker has it{because}"
        case RunState.MISFIT:
            return f"no worker took the queue {record.spec.queue} in time{because}"
        case _:
            return f"it is over: {record.state}{because}"


def _from_log(events: Sequence[Event]) -> Json:
    """What the log has: how far the run has come, what it waits for, and what it took."""
    bill = Bill()
    for event in events:
        bill.note(event)
    failure = next((one for one in reversed(events) if one.error_code), None)
    return {
        "events": len(events),
        "waits_for": [f"{one.id}: {'; '.join(description_of(one))}" for one in open_in(events)],
        "failure": f"{failure.error_code}: {failure.error_message}" if failure is not None else "",
        "took": bill.line(),
    }
