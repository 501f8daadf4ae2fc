"""The server of stored sessions as an ASGI app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel.artifacts import InMemoryArtifactService
from newel.artifacts.kinds import ArtifactBackend
from newel.auth.credential_service.in_memory_credential_service import InMemoryCredentialService
from newel.memory import InMemoryMemoryService
from newel.runners.services import Services
from newel.server.application import Application, store_of
from newel.server.options import Options
from newel.server.state import State
from newel.server.stored import Stored, StoredApps, opened_to_read, owned, place_of
from newel.server.traces import Traces
from newel_compose import Composition, compose_once

if TYPE_CHECKING:
    from newel.artifacts.base_artifact_service import BaseArtifactService


def stored_app(
    address: str,
    *,
    artifact_service: BaseArtifactService | str | None = None,
    distribution: str | None = None,
    composition: Composition | None = None,
    options: Options | None = None,
) -> Application:
    """The server of the sessions at an address that `stored_at` returned. It answers reads alone."""
    composed = composition if composition is not None else compose_once(distribution)
    sessions = opened_to_read(address, composed)
    artifacts = store_of(composed, ArtifactBackend, artifact_service)
    services = Services(
        sessions,
        artifacts or InMemoryArtifactService(),
        InMemoryMemoryService(),
        InMemoryCredentialService(),
    )
    stored = Stored(place_of(address), owned(sessions), artifacts is not None)
    apps = StoredApps(composed)
    return Application(State(composed, apps, options or Options(), services, Traces(), stored=stored))
