"""Places: what engines need of a runner, and how a run's session is named and read."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from newel_kernel import BaseAgent, BaseSessionService, Event, Message, RunConfig, Session

if TYPE_CHECKING:
    from newel.artifacts.base_artifact_service import BaseArtifactService
    from newel.auth.credential_service.base_credential_service import BaseCredentialService
    from newel.engines.spec import InvocationSpec
    from newel_compose import Composition


class AppRunner(Protocol):
    """A `Runner` of an app, as engines use it."""

    app_name: str
    agent: BaseAgent
    composition: Composition
    session_service: BaseSessionService
    artifact_service: BaseArtifactService | None
    credential_service: BaseCredentialService | None
    auto_create_session: bool

    def invoke(
        self, user_id: str, session_id: str, message: Message, config: RunConfig | None = None
    ) -> AsyncGenerator[Event, None]:
        """The events of one invocation."""

    async def take_in(self, session: Session, message: Message, config: RunConfig, store: Any) -> list[Event]:
        """Store a message through `store` as a run would, and run nothing."""


class Place(TypedDict):
    """The arguments that name a session."""

    app_name: str
    user_id: str
    session_id: str


def place_of(spec: InvocationSpec) -> Place:
    """The session of a run."""
    return {"app_name": spec.app_name, "user_id": spec.user_id, "session_id": spec.session_id}
