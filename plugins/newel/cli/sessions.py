"""`newel sessions`: the stored sessions of an agent: list, show, export, verify and replay them."""

from __future__ import annotations

from pathlib import Path

import click

from newel.cli.agent_sessions import AgentSessions, session_options, short, with_sessions
from newel.cli.ages import minute_of
from newel.cli.conversation import Options, converse
from newel.cli.exit import run_loop
from newel.cli.loading import OpenGroup
from newel.cli.session_changes import compact, fork, rewind
from newel.cli.session_import import import_sessions
from newel.cli.store_upkeep import backup, delete, vacuum
from newel.cli.stored_session import first_words, show_events, summary_of, write_document
from newel.cli.terminal import say, show_json, show_table, shown, to_terminal
from newel.cli.transcript import Dialogue
from newel.cli.turn import RunFailedError, run_turn
from newel.events.text import text_of
from newel.sessions.documents import document_of
from newel.sessions.verification import problems_of
from newel_kernel import ConfigurationError, Session, seam


@click.group("sessions", cls=OpenGroup)
def sessions() -> None:
    """Show and maintain the stored sessions of AGENT. An id may be shortened as long as it is unique."""


for _command in (import_sessions, fork, rewind, compact, delete, vacuum, backup):
    sessions.add_command(_command)


@sessions.command("list")
@session_options
@click.pass_context
def list_sessions(ctx: click.Context, agent: str, user: str | None, sessions: str | None) -> None:
    """List the sessions, the latest first; a table on a terminal, else JSON."""

    async def work(stored: AgentSessions) -> list[Session]:
        return [await stored.events_of(one) for one in await stored.listed()]

    summaries = with_sessions(ctx, agent, user, sessions, work)
    if not to_terminal():
        show_json([summary_of(session) for session in summaries])
        return
    ids = [session.id for session in summaries]
    rows = [
        [short(one.id, ids), one.user_id, minute_of(one.last_update_time), str(len(one.events)), first_words(one)]
        for one in summaries
    ]
    show_table(f"sessions of {agent}", ("id", "user", "last used", "events", "begins with"), rows)


@sessions.command("show")
@session_options
@click.argument("session_id")
@click.pass_context
def show(ctx: click.Context, agent: str, session_id: str, user: str | None, sessions: str | None) -> None:
    """Show what was said in a session, as a chat does; JSON lines unless stdout is a terminal."""
    session = with_sessions(ctx, agent, user, sessions, lambda stored: stored.whole(session_id))
    if not to_terminal():
        for event in session.events:
            click.echo(event.model_dump_json(by_alias=True, exclude_none=True))
        return
    say(f"session {shown(session.id)} of {shown(session.user_id)}", dim=True)
    show_events(session.events, session.app_name)


@sessions.command("export")
@session_options
@click.argument("session_id")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="The file; by default stdout.")
@click.pass_context
def export(
    ctx: click.Context, agent: str, session_id: str, user: str | None, sessions: str | None, output: Path | None
) -> None:
    """Write a session with its state and events as JSON."""
    session = with_sessions(ctx, agent, user, sessions, lambda stored: stored.whole(session_id))
    if output is None:
        show_json(document_of(session, first_words(session)))
    else:
        write_document(session, output)


@sessions.command("verify")
@session_options
@click.argument("session_ids", nargs=-1)
@click.pass_context
def verify(
    ctx: click.Context, agent: str, session_ids: tuple[str, ...], user: str | None, sessions: str | None
) -> None:
    """Check sessions (all, if none is named): their sequence, calls and results, and state. Status 1: a problem."""

    async def work(stored: AgentSessions) -> list[tuple[Session, list[str]]]:
        targets = [await stored.named(id_) for id_ in session_ids] if session_ids else await stored.listed()
        return [(one, await problems_of(stored.store, one)) for one in targets]

    results = with_sessions(ctx, agent, user, sessions, work)
    if to_terminal():
        for session, problems in results:
            say(f"{shown(session.id)} of {shown(session.user_id)}: {'ok' if not problems else ''}")
            for problem in problems:
                say(f"  {shown(problem)}")
    else:
        show_json([{"id": one.id, "user_id": one.user_id, "problems": problems} for one, problems in results])
    if any(problems for _, problems in results):
        ctx.exit(1)


@sessions.command("replay")
@session_options
@click.argument("session_id")
@click.option("--model", metavar="ADDRESS", help="Another model for the root agent, such as demo: or echo:.")
@click.pass_context
def replay(
    ctx: click.Context, agent: str, session_id: str, user: str | None, sessions: str | None, model: str | None
) -> None:
    """Send what the user said in a session to AGENT again, in a new session that is not stored."""
    session = with_sessions(ctx, agent, user, sessions, lambda stored: stored.whole(session_id))
    messages = [text for event in session.events if event.author == "user" and (text := text_of(event.content))]
    if not messages:
        raise ConfigurationError(f"in the session {shown(session.id)} the user said nothing that could be sent again")
    options = Options(session=seam.new_id(), user=session.user_id, model=model, sessions="memory:", distribution=None)
    conversation = converse(ctx, agent, options)

    async def run() -> None:
        try:
            for message in messages:
                say(f"you> {message}", bold=True)
                await run_turn(conversation, message, Dialogue(conversation.agent.name), stream=False)
        finally:
            await conversation.close()

    try:
        run_loop(run())
    except RunFailedError as error:
        raise click.ClickException(f"the run failed: {error}") from error
