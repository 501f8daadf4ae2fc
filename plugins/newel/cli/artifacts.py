"""`newel artifacts`: the contents of an agent's artifact store, and the removal of what nothing refers to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import Any

import click

from newel.artifacts.contract import ArtifactStore, StoredVersion
from newel.claims import SessionBusyError
from newel.cli.agent_sessions import AgentSessions, with_sessions
from newel.cli.ages import Age, minute_of
from newel.cli.exit import run_loop
from newel.cli.startup import composition_of
from newel.cli.stored_artifacts import artifacts_of
from newel.cli.terminal import say, show_json, show_table, shown, to_terminal
from newel.files.agent_source import load_source
from newel.sessions.artifact_references import referred_versions
from newel_kernel import ConfigurationError, Session, seam

#: A session: its user, and its id.
_Owner = tuple[str, str]


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    place = click.option("--artifacts", metavar="URI", help="Where artifacts are; by default the agent's store.")
    return click.argument("agent")(place(command))


@click.group("artifacts")
def artifacts() -> None:
    """Look at the stored artifacts of AGENT, and remove what nothing refers to."""


@artifacts.command("list")
@_options
@click.option("--user", metavar="ID", help="Only artifacts of this user.")
@click.pass_context
def list_artifacts(ctx: click.Context, agent: str, artifacts: str | None, user: str | None) -> None:
    """List every version of every artifact; a table on a terminal, else JSON."""
    composition = composition_of(ctx, None)
    source = load_source(agent, composition)

    async def work() -> list[StoredVersion]:
        async with artifacts_of(source, composition, artifacts) as store:
            entries = await store.stored(app_name=source.name)
            return sorted((one for one in entries if user in (None, one.user_id)), key=_place)

    versions = run_loop(work())
    if not to_terminal():
        show_json([one._asdict() for one in versions])
        return
    rows = [
        [one.user_id, one.session_id or "", one.filename, str(one.version), minute_of(one.create_time)]
        for one in versions
    ]
    show_table(f"artifacts of {agent}", ("user", "session", "name", "version", "saved"), rows)


@artifacts.command("gc")
@_options
@click.option("--sessions", metavar="URI", help="Where sessions are kept; by default .newel/sessions.db.")
@click.option(
    "--older-than", type=Age(), default="1d", metavar="AGE", help="Only what is older than this; by default 1d."
)
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@click.option("--yes", is_flag=True, help="Remove even if the store has no session of the agent.")
@click.pass_context
def gc(
    ctx: click.Context,
    agent: str,
    artifacts: str | None,
    sessions: str | None,
    older_than: float,
    dry_run: bool,
    yes: bool,
) -> None:
    """Remove versions of artifacts whose session is gone, or that nothing in it refers to, and leftovers of crashes.

    Artifacts of users (user:...) stay, and so does everything of a session that has a run.
    """

    async def work(stored: AgentSessions) -> None:
        async with artifacts_of(stored.source, stored.composition, artifacts) as store:
            await _Collection(stored, store, seam.clock() - older_than, dry_run).run(yes)

    with_sessions(ctx, agent, None, sessions, work)


class _Collection:
    """One removal of what nothing refers to. Versions are listed before sessions are read: no reference is missed."""

    def __init__(self, stored: AgentSessions, store: ArtifactStore, before: float, dry_run: bool) -> None:
        self._stored = stored
        self._store = store
        self._before = before
        self._dry_run = dry_run
        self._removed = 0

    async def run(self, yes: bool) -> None:
        by_session: dict[_Owner, list[StoredVersion]] = defaultdict(list)
        for one in await self._store.stored(app_name=self._stored.app):
            if one.session_id is not None:
                by_session[one.user_id, one.session_id].append(one)
        existing = {(one.user_id, one.id) for one in await self._stored.listed()}
        if by_session and not existing and not yes:
            raise ConfigurationError(
                f"the store has no session of {self._stored.app!r} at all, so that all {len(by_session)} sessions with "
                f"artifacts would count as gone: give the right --sessions, or --yes if they are"
            )
        for owner, versions in sorted(by_session.items()):
            if any(one.create_time < self._before for one in versions):
                await self._of_session(*owner, versions)
        for uri in await self._store.incomplete_writes(
            app_name=self._stored.app, before=self._before, delete=not self._dry_run
        ):
            self._report(f"{uri} (left by a crash)")
        say(f"{'would remove' if self._dry_run else 'removed'} {self._removed} in all", err=True)

    async def _of_session(self, user_id: str, id_: str, versions: Collection[StoredVersion]) -> None:
        """Remove what nothing refers to in a session; no other process can run it meanwhile."""
        try:
            async with self._stored.held(Session(id=id_, app_name=self._stored.app, user_id=user_id)) as session:
                if session is None:
                    await self._remove(versions, "the session is gone")
                    return
                numbers: dict[str, list[int]] = defaultdict(list)
                for one in versions:
                    numbers[one.filename].append(one.version)
                references = referred_versions(session, numbers)
                unused = [one for one in versions if (one.filename, one.version) not in references]
                await self._remove(unused, "no event refers to it")
        except SessionBusyError:
            say(f"{shown(id_)} has a run, and is skipped", err=True)

    async def _remove(self, versions: Iterable[StoredVersion], why: str) -> None:
        for one in sorted(versions, key=_place):
            if one.create_time >= self._before:
                continue
            if not self._dry_run:
                await self._store.delete_version(
                    app_name=self._stored.app,
                    user_id=one.user_id,
                    session_id=one.session_id,
                    filename=one.filename,
                    version=one.version,
                )
            self._report(f"{one.filename} version {one.version} of session {one.session_id} of {one.user_id} ({why})")

    def _report(self, what: str) -> None:
        self._removed += 1
        say(f"{'would remove' if self._dry_run else 'removed'} {shown(what)}")


def _place(one: StoredVersion) -> tuple[str, str, str, int]:
    return one.user_id, one.session_id or "", one.filename, one.version
