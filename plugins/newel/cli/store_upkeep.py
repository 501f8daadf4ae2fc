"""`newel sessions delete`, `vacuum` and `backup`: delete sessions from a store, free its unused space, and copy it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import click

from newel.claims import SessionBusyError
from newel.cli.agent_sessions import AgentSessions, session_options, store_options, with_sessions
from newel.cli.ages import Age, minute_of
from newel.cli.stored_artifacts import deletion
from newel.cli.stored_session import first_words
from newel.cli.terminal import say, shown
from newel.sessions.contract import SessionStore
from newel.sessions.stored.service import StoredSessionService
from newel_kernel import ConfigurationError, Session, seam


@click.command("delete")
@session_options
@click.argument("session_ids", nargs=-1)
@click.option("--older-than", type=Age(), metavar="AGE", help="Sessions unused for this long, such as 30d.")
@click.option("--artifacts", metavar="URI", help="Where their artifacts are; by default the agent's store.")
@click.option("--dry-run", is_flag=True, help="Say what would be deleted, and delete nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_context
def delete(
    ctx: click.Context,
    agent: str,
    session_ids: tuple[str, ...],
    user: str | None,
    sessions: str | None,
    older_than: float | None,
    artifacts: str | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Delete sessions of AGENT and their artifacts. A session with a run is refused, or skipped if an age is given.

    With --sessions, which may name a copy, artifacts are deleted only if --artifacts is given, too.
    """
    if bool(session_ids) == (older_than is not None):
        raise ConfigurationError("name the sessions to delete, or say --older-than AGE, and not both")

    async def work(stored: AgentSessions) -> None:
        if older_than is not None:
            await _delete_unused(stored, seam.clock() - older_than, artifacts, dry_run, yes)
            return
        targets = [await stored.whole(id_) for id_ in session_ids]
        names = ", ".join(f"{shown(one.id)} ({shown(first_words(one)) or 'nothing was said'})" for one in targets)
        if dry_run:
            say(f"would delete {names}")
            return
        _ask(names, yes)
        async with deletion(stored, artifacts) as delete_it:
            for one in {one.id: one for one in targets}.values():
                async with stored.held(one):
                    await delete_it(one.user_id, one.id)
                say(f"deleted {shown(one.id)}")

    with_sessions(ctx, agent, user, sessions, work)


def _ask(names: str, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigurationError(f"cannot ask whether to delete {names}, as stdin is not a terminal; give --yes")
    click.confirm(f"Delete {names}?", abort=True, err=True)


async def _delete_unused(stored: AgentSessions, before: float, artifacts: str | None, dry_run: bool, yes: bool) -> None:
    """Delete the sessions that were last used before a time, checked again when each one's turn comes."""
    old = [(one.user_id, one.id) async for one in _every(stored) if one.last_update_time < before]
    names = f"{len(old)} session{'' if len(old) == 1 else 's'} unused since {minute_of(before)}"
    if not old or dry_run:
        for _, id_ in old:
            say(f"would delete {shown(id_)}")
        say(f"there {'is' if len(old) == 1 else 'are'} {names}")
        return
    _ask(names, yes)
    deleted = 0
    async with deletion(stored, artifacts) as delete_it:
        for user_id, id_ in old:
            try:
                async with stored.held(Session(id=id_, app_name=stored.app, user_id=user_id)) as session:
                    if session is not None and session.last_update_time < before:
                        await delete_it(user_id, id_)
                        deleted += 1
            except SessionBusyError:
                say(f"{shown(id_)} has a run, and is skipped", err=True)
    say(f"deleted {deleted} of {names}")


async def _every(stored: AgentSessions) -> AsyncIterator[Session]:
    """The sessions without their events, page by page if the store has pages."""
    if not isinstance(stored.store, SessionStore):
        for session in await stored.listed():
            yield session
        return
    after: str | None = None
    while True:
        page = await stored.store.list_page(app_name=stored.app, user_id=stored.user, size=500, after=after)
        for session in page.sessions:
            yield session
        if (after := page.next) is None:
            return


@click.command("vacuum")
@store_options
@click.pass_context
def vacuum(ctx: click.Context, agent: str, sessions: str | None) -> None:
    """Free the space of deleted data in the whole store of AGENT's sessions, while others use it."""

    async def work(stored: AgentSessions) -> None:
        await _durable(stored).vacuum()

    with_sessions(ctx, agent, None, sessions, work)
    say("the space of deleted data is free")


@click.command("backup")
@store_options
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.pass_context
def backup(ctx: click.Context, agent: str, sessions: str | None, file: Path) -> None:
    """Copy the SQLite file of AGENT's sessions to FILE, consistently even while others use it."""

    async def work(stored: AgentSessions) -> None:
        await _durable(stored).backup(file)

    with_sessions(ctx, agent, None, sessions, work)
    say(f"copied to {file}; give --sessions sqlite:///{file} to use it")


def _durable(stored: AgentSessions) -> StoredSessionService:
    if not isinstance(stored.store, StoredSessionService):
        raise ConfigurationError(
            f"{type(stored.store).__name__} has no upkeep: it is for SQLite, PostgreSQL, MariaDB and MySQL"
        )
    return stored.store
