"""`newel submit`: hand a run to an engine, whose workers run it."""

from __future__ import annotations

import asyncio

import click

from newel.cli.conversation import Conversation
from newel.cli.engine_options import EngineRuns, engine_options, with_engine
from newel.cli.open_questions import description_of, questions_of, variable_of
from newel.cli.run import WAITING, message_text
from newel.cli.terminal import say, show_json, to_terminal
from newel.engines import RunFailedError, RunState, SubmittedRun
from newel.engines.answers import takes_credentials
from newel.questions.question import Kind, Question
from newel.runs import RunCancelledError
from newel_kernel import SessionNotFoundError, seam


@click.command("submit")
@engine_options
@click.argument("message", required=False)
@click.option("--session", metavar="ID", help="The session; by default a new one.")
@click.option("--user", default="user", show_default=True, help="The user of the session.")
@click.option("--invocation", metavar="ID", help="The id of the run: the same id again is the same run.")
@click.option("--priority", type=click.IntRange(1, 5), default=3, show_default=True, help="From 1, first, to 5, last.")
@click.option("--tenant", default="", help="Whose share of the workers the run takes.")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), help="How long it may take, from now to its end.")
@click.option("--wait", is_flag=True, help="Wait for the answer and print it, as `newel run` does.")
@click.pass_context
def submit(
    ctx: click.Context,
    agent: str,
    message: str | None,
    session: str | None,
    user: str,
    invocation: str | None,
    priority: int,
    tenant: str,
    seconds: float | None,
    wait: bool,
    sessions: str | None,
    engine: str | None,
) -> None:
    """Hand AGENT one MESSAGE ("-" reads it from stdin), for a worker to run; print the ids of the run.

    With --wait, status 1: the run failed; 3: a question is open, and `newel runs signal` answers it.
    """
    text = message_text(ctx, message, answered=False)

    async def work(runs: EngineRuns) -> int:
        run = await runs.runner.submit(
            user_id=user,
            session_id=session or seam.new_id(),
            new_message=text,
            invocation_id=invocation,
            priority=priority,
            tenant=tenant,
            seconds=seconds,
        )
        return await _waited(runs, run) if wait else _show(run)

    ctx.exit(with_engine(ctx, agent, sessions, engine, work))


async def _waited(runs: EngineRuns, run: SubmittedRun) -> int:
    """Wait for a run, and print its answer or what it waits for; the status."""
    try:
        answer = await run.wait()
    except asyncio.CancelledError:
        show = runs.command("runs show", run.invocation_id)
        say(f"the run goes on: {show} (or cancel, in place of show)", err=True)
        raise
    except (RunFailedError, RunCancelledError, SessionNotFoundError) as error:
        say(f"Error: {error}", err=True)
        return 1
    if answer is not None:
        say(answer.text)
    if (await run.record()).state is not RunState.PAUSED:
        return 0
    conversation = runs.conversation(run.spec.user_id, run.spec.session_id)
    for one in await questions_of(conversation) or ():
        if one.invocation_id == run.invocation_id:
            say(f"waiting: {'; '.join(description_of(one))} - {_way(one, run, runs, conversation)}", err=True)
    return WAITING


def _way(question: Question, run: SubmittedRun, runs: EngineRuns, conversation: Conversation) -> str:
    """What is to be done about a question."""
    if question.kind is not Kind.CREDENTIAL:
        return runs.command("runs signal", run.invocation_id, "--answer", f"{question.id}=ANSWER")
    if takes_credentials(runs.engine, runs.runner):
        signal = runs.command("runs signal", run.invocation_id, "--answer", f"{question.id}=-")
        return f"{signal}, which reads it from stdin (or =@FILE)"
    cancel = runs.command("runs cancel", run.invocation_id)
    return f"{cancel}, set {variable_of(question, conversation)} for the workers, and submit the message again"


def _show(run: SubmittedRun) -> int:
    """Print where a run is; the status."""
    if to_terminal():
        say(f"run {run.invocation_id} in the session {run.spec.session_id}, on the queue {run.spec.queue}")
    else:
        show_json({"invocation": run.invocation_id, "session": run.spec.session_id, "queue": run.spec.queue})
    return 0
