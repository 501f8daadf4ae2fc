"""What one invocation shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from newel.contexts.call_ids import OURS
from newel.contexts.context import Context
from newel.contexts.stash_keys import CREDENTIALS
from newel.models.llm_request import LlmRequest
from newel_kernel import InvocationContext as KernelInvocationContext
from newel_kernel import LlmCallsLimitExceededError, new_invocation_id

if TYPE_CHECKING:
    from newel.agents.context_cache_config import ContextCacheConfig
    from newel.agents.live_request_queue import LiveRequestQueue
    from newel.artifacts.base_artifact_service import BaseArtifactService
    from newel.auth.credential_service.base_credential_service import BaseCredentialService
    from newel.memory.base_memory_service import BaseMemoryService
    from newel_kernel import BaseAgent, BaseSessionService, Chains, RunConfig, Session
    from newel_types import AuthCredential, Content

__all__ = ["InvocationContext", "LlmCallsLimitExceededError", "new_invocation_id"]


class InvocationContext(KernelInvocationContext):
    """One invocation as one agent sees it, with its credentials and its live session."""

    context_type = Context
    request_type = LlmRequest
    call_id_prefix = OURS
    #: The user's input in a live session.
    live_request_queue: LiveRequestQueue | None = None

    def __init__(
        self,
        session_service: BaseSessionService,
        session: Session,
        agent: BaseAgent,
        composition: Chains,
        run_config: RunConfig,
        invocation_id: str | None = None,
        user_content: Content | None = None,
        artifact_service: BaseArtifactService | None = None,
        memory_service: BaseMemoryService | None = None,
        credential_service: BaseCredentialService | None = None,
        branch: str | None = None,
        app: object = None,
        resumability_config: Any = None,
        live_request_queue: LiveRequestQueue | None = None,
    ) -> None:
        super().__init__(
            session_service, session, agent, composition, run_config, invocation_id, user_content, artifact_service,
            memory_service, credential_service, branch, app, resumability_config,
        )  # fmt: skip
        if live_request_queue is not None:
            self.live_request_queue = live_request_queue

    @property
    def credential_by_key(self) -> dict[str, AuthCredential]:
        """The credentials that tools of this invocation use, by `credential_key`; never stored."""
        return self.stash[CREDENTIALS]

    @property
    def context_cache_config(self) -> ContextCacheConfig | None:
        """The app's settings of context caching, or None."""
        return getattr(self.app, "context_cache_config", None)
