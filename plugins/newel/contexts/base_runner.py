"""BaseRunner: a runner whose invocations share services."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from newel.contexts.invocation_context import InvocationContext, Resumability
from newel.contexts.run_config import RunConfig
from newel_kernel import BaseAgent, BaseSessionService, Chains, Session
from newel_kernel import RunConfig as KernelRunConfig
from newel_kernel import Runner as KernelRunner
from newel_types import Content

if TYPE_CHECKING:
    from newel.contexts.services import ArtifactService, CredentialService, MemoryService
    from newel_kernel import Application


class BaseRunner(KernelRunner):
    """Runs an agent (or an app) against sessions, by a composition and with the services that it is given."""

    default_config = RunConfig()
    artifact_service: ArtifactService | None
    memory_service: MemoryService | None
    credential_service: CredentialService | None

    def __init__(
        self,
        *,
        composition: Chains,
        session_service: BaseSessionService,
        app: Application | None = None,
        app_name: str | None = None,
        agent: BaseAgent | None = None,
        plugins: Sequence[object] = (),
        artifact_service: ArtifactService | None = None,
        memory_service: MemoryService | None = None,
        credential_service: CredentialService | None = None,
        auto_create_session: bool = False,
    ) -> None:
        super().__init__(
            composition=composition, session_service=session_service, app=app, app_name=app_name, agent=agent,
            plugins=plugins, auto_create_session=auto_create_session,
        )  # fmt: skip
        self.artifact_service = artifact_service
        self.memory_service = memory_service
        self.credential_service = credential_service
        self.resumability_config: Resumability | None = getattr(app, "resumability_config", None)

    def new_context(
        self, session: Session, config: KernelRunConfig, invocation_id: str | None, content: Content | None
    ) -> InvocationContext:
        """What an invocation shares."""
        if not isinstance(config, RunConfig):
            config = RunConfig(**dict(config))
        return InvocationContext(
            self.session_service, session, self.agent, self.composition, config, invocation_id,
            content, self.artifact_service, self.memory_service, self.credential_service, None, self.app,
            self.resumability_config,
        )  # fmt: skip
