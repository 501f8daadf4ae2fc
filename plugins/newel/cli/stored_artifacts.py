"""Stored artifacts: the artifact store of an agent."""

from __future__ import annotations

from collections.abc import AsyncIterator
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
    store: Any = (getattr(source.app, "artifact_service", None) if uri is None else None) or composition.open_service(
        ArtifactBackend, uri
    )
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


async def delete_with_artifacts(stored: Stored, user_id: str, session_id: str) -> None:
    """Delete a session, then its artifacts, where the agent has a store of those."""
    where = {"app_name": stored.app, "user_id": user_id, "session_id": session_id}
    await stored.store.delete_session(**where)
    own = getattr(stored.source.app, "artifact_service", None)
    if own is not None or stored.composition.distribution.services.get(ArtifactBackend.service):
        async with artifacts_of(stored.source, stored.composition, None) as artifacts:
            await artifacts.delete_session(**where)
