"""AgentSessions: the sessions of an agent in its store, by their ids or the beginnings of their ids."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from newel.claims import SessionBusyError
from newel.claims.leasing import is_leasing
from newel.cli.conversation import is_elsewhere, open_store, runner_of, store_of
from newel.cli.exit import run_loop
from newel.cli.startup import composition_of
from newel.cli.terminal import shown
from newel.files.agent_source import AgentSource, load_source
from newel.runners import Runner
from newel_compose import Composition
from newel_kernel import BaseSessionService, ConfigurationError, Session, did_you_mean

T = TypeVar("T")
_SHORT = 8
#: How long a command that ended without giving a session back keeps it from others, in seconds.
_LEASE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class AgentSessions:
    """The sessions of one agent and user in a store, which is open."""

    store: BaseSessionService
    source: AgentSource
    composition: Composition
    user: str | None
    #: Whether the store is not the agent's own; it may be a copy of it.
    elsewhere: bool = False

    @property
    def app(self) -> str:
        """The name under which the agent's sessions are kept."""
        return self.source.name

    def runner(self) -> Runner:
        """A runner of the agent over this store."""
        return runner_of(self.source, self.composition, self.store)

    @asynccontextmanager
    async def held(self, session: Session) -> AsyncIterator[Session | None]:
        """A session as it is now, kept from other processes; None: it is gone. SessionBusyError: it has a run."""
        store = self.store
        view = await store.open(app_name=self.app, user_id=session.user_id, session_id=session.id)
        if view is None or not is_leasing(store):
            yield view
            return
        if (holder := store.holder(view)) is not None:
            raise SessionBusyError.of(view.id, holder)
        store.hold(view, _LEASE_SECONDS)
        try:
            await store.take(view)
            yield view
        finally:
            store.release_soon(view)

    async def listed(self) -> list[Session]:
        """The sessions without their events, the latest first."""
        response = await self.store.list_sessions(app_name=self.app, user_id=self.user)
        return sorted(response.sessions, key=lambda one: (-one.last_update_time, one.id))

    async def whole(self, id_: str) -> Session:
        """The session with that id, or the only one whose id begins with it, with its events."""
        return await self.events_of(await self.named(id_))

    async def named(self, id_: str) -> Session:
        """The session as `whole` finds it, without its events."""
        listed = await self.listed()
        matches = [one for one in listed if one.id == id_] or [one for one in listed if id_ and one.id.startswith(id_)]
        if len(matches) > 1:
            several = ", ".join(shown(one.id) for one in matches[:5])
            raise ConfigurationError(f"{len(matches)} sessions begin with {id_!r}: {several}; give more of the id")
        if not matches:
            ids = [one.id for one in listed]
            hint = did_you_mean(id_, ids) or f"; `newel sessions list` shows all {len(ids)}"
            raise ConfigurationError(f"the app {self.app!r} has no session {id_!r}{hint}")
        return matches[0]

    async def events_of(self, session: Session) -> Session:
        """A session that was listed, with its events."""
        whole = await self.store.get_session(app_name=self.app, user_id=session.user_id, session_id=session.id)
        return whole or session  # deleted in between


def store_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Declare the AGENT argument and --sessions."""
    place = click.option("--sessions", metavar="URI", help="Where sessions are kept; by default .newel/sessions.db.")
    return click.argument("agent")(place(command))


def session_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Declare the same, with --user."""
    return store_options(click.option("--user", metavar="ID", help="Only sessions of this user.")(command))


def with_sessions(
    ctx: click.Context, agent: str, user: str | None, uri: str | None, work: Callable[[AgentSessions], Awaitable[T]]
) -> T:
    """The result of `work` on the stored sessions of AGENT; the store is closed afterwards."""
    composition = composition_of(ctx, None)
    source = load_source(agent, composition)
    return in_store(composition, source, user, uri, work)


def in_store(
    composition: Composition,
    source: AgentSource,
    user: str | None,
    uri: str | None,
    work: Callable[[AgentSessions], Awaitable[T]],
) -> T:
    """`with_sessions` for an agent that is already loaded."""
    store = (store_of(source) if uri is None else None) or open_store(composition, uri)

    async def run() -> T:
        try:
            return await work(AgentSessions(store, source, composition, user, is_elsewhere(source, composition, uri)))
        finally:
            await store.close()

    return run_loop(run())


def short(id_: str, ids: Sequence[str]) -> str:
    """The beginning of an id that no other id has, at least 8 characters."""
    length = _SHORT
    while length < len(id_) and sum(other.startswith(id_[:length]) for other in ids) > 1:
        length += 1
    return id_[:length]
