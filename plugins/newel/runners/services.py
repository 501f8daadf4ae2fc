"""Services: the stores of a runner, from the caller, the app or the distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from newel.artifacts.kinds import ArtifactBackend
from newel.auth.kinds import CredentialBackend
from newel.memory.kinds import MemoryBackend
from newel.runners.arguments import check_store
from newel.sessions.kinds import SessionBackend
from newel_kernel import BaseSessionService, ConfigurationError

if TYPE_CHECKING:
    from newel.apps.app import App
    from newel.artifacts.base_artifact_service import BaseArtifactService
    from newel.auth.credential_service.base_credential_service import BaseCredentialService
    from newel.memory.base_memory_service import BaseMemoryService
    from newel_compose import Backend, Composition

S = TypeVar("S")


class Services(NamedTuple):
    """The stores of a runner."""

    session: BaseSessionService
    artifact: BaseArtifactService | None
    memory: BaseMemoryService | None
    credential: BaseCredentialService | None


def open_services(
    composition: Composition,
    app: App | None,
    session: BaseSessionService | None,
    artifact: BaseArtifactService | None,
    memory: BaseMemoryService | None,
    credential: BaseCredentialService | None,
) -> Services:
    """The caller's stores; one that is None comes from the app, else from the distribution's `services`."""

    def store(service: S | None, kind: type[Backend[S]]) -> S | None:
        check_store(service, f"{kind.service}_service")
        own: S | None = service or getattr(app, f"{kind.service}_service", None)
        return own or composition.open_service(kind)

    sessions = store(session, SessionBackend)
    if sessions is None:
        raise ConfigurationError(
            f"no session store: pass session_service=, or set services.session in the distribution "
            f"{composition.distribution.name!r}"
        )
    return Services(
        sessions, store(artifact, ArtifactBackend), store(memory, MemoryBackend), store(credential, CredentialBackend)
    )
