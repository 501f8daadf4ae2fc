"""Stored artifacts: the artifact store of an agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from newel.artifacts.contract import ArtifactStore
from newel.artifacts.kinds import ArtifactBackend
from newel.cli.agent_sessions import AgentSessions
from newel.cli.terminal import say
from newel.files.agent_source import AgentSource
from newel_compose import Composition
from newel_kernel import ConfigurationError


@asynccontextmanager
async def artifacts_of(source: AgentSource, composition: Composition, uri: str | None) -> AsyncIterator[ArtifactStore]:
    """The artifacts of --artifacts, else of the app, else of the distribution; closed afterwards."""
    store = _opened(source, composition, uri)
    if store is None:
        raise ConfigurationError(
            f"the agent has no artifact store: set services.artifact in the distribution "
            f"{composition.distribution.name!r}, or give --artifacts URI"
        )
    if not isinstance(store, ArtifactStore):
        raise ConfigurationError(
            f"{type(store).__name__} cannot say what it holds: it is not a newel.artifacts.ArtifactStore"
        )
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def own_artifacts(stored: AgentSessions, uri: str | None = None) -> AsyncIterator[ArtifactStore | None]:
    """The artifacts that go with an agent's sessions, closed afterwards; None: no store, or a foreign kind."""
    store = _opened(stored.source, stored.composition, uri)
    if not isinstance(store, ArtifactStore):
        yield None
        return
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def deletion(stored: AgentSessions, uri: str | None) -> AsyncIterator[Callable[[str, str], Awaitable[None]]]:
    """A function that deletes a user's session, then its artifacts, in the store of --artifacts or of the agent.

    If --sessions names another place than the agent's, it may be a copy, and the artifacts are the original's too:
    then only those of --artifacts are deleted. The store of artifacts is opened once, before anything is deleted.
    """

    async def delete(user_id: str, session_id: str, artifacts: ArtifactStore | None) -> None:
        where = {"app_name": stored.app, "user_id": user_id, "session_id": session_id}
        await stored.store.delete_session(**where)
        if artifacts is not None:
            await artifacts.delete_session(**where)

    if stored.elsewhere and uri is None:
        yield lambda user_id, session_id: delete(user_id, session_id, None)
        if _names_artifacts(stored):
            say("artifacts are kept, because --sessions may name a copy; --artifacts URI deletes them, too", err=True)
        return
    async with own_artifacts(stored, uri) as artifacts:
        yield lambda user_id, session_id: delete(user_id, session_id, artifacts)


def _names_artifacts(stored: AgentSessions) -> bool:
    """Whether the agent has a store of artifacts at all."""
    own = getattr(stored.source.app, "artifact_service", None)
    return own is not None or bool(stored.composition.distribution.services.get("artifact"))


def _opened(source: AgentSource, composition: Composition, uri: str | None) -> Any:
    """The store, or None if there is none."""
    own = getattr(source.app, "artifact_service", None) if uri is None else None
    return own or composition.open_service(ArtifactBackend, uri)
