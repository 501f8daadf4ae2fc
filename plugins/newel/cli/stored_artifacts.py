"""Stored artifacts: the artifact store of an agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from newel.artifacts.contract import ArtifactStore
from newel.artifacts.kinds import ArtifactBackend
from newel.cli.agent_source import AgentSource
from newel.cli.stored import Stored
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
            f"{type(store).__name__} cannot say what it holds: it is no newel.artifacts.ArtifactStore"
        )
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def deletion(stored: Stored) -> AsyncIterator[Callable[[str, str], Awaitable[None]]]:
    """What deletes a session of a user, then its artifacts; those in a foreign kind of store stay.

    The store of artifacts is opened once, before anything is deleted.
    """
    artifacts = _opened(stored.source, stored.composition, None)

    async def delete(user_id: str, session_id: str) -> None:
        where = {"app_name": stored.app, "user_id": user_id, "session_id": session_id}
        await stored.store.delete_session(**where)
        if isinstance(artifacts, ArtifactStore):
            await artifacts.delete_session(**where)

    try:
        yield delete
    finally:
        if isinstance(artifacts, ArtifactStore):
            await artifacts.close()


def _opened(source: AgentSource, composition: Composition, uri: str | None) -> Any:
    """The store, or None where there is none."""
    own = getattr(source.app, "artifact_service", None) if uri is None else None
    return own or composition.open_service(ArtifactBackend, uri)
