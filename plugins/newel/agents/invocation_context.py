"""What one invocation shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from newel.agents.context import Context
from newel.auth.stash_keys import CREDENTIALS
from newel.events.call_ids import OURS
from newel.models.llm_request import LlmRequest
from newel_kernel import InvocationContext as KernelInvocationContext
from newel_kernel import LlmCallsLimitExceededError, new_invocation_id

if TYPE_CHECKING:
    from newel.agents.context_cache_config import ContextCacheConfig
    from newel.agents.live_request_queue import LiveRequestQueue
    from newel_types import AuthCredential

__all__ = ["InvocationContext", "LlmCallsLimitExceededError", "new_invocation_id"]


class InvocationContext(KernelInvocationContext):
    """One invocation as one agent sees it, with its credentials and its live session."""

    context_type = Context
    request_type = LlmRequest
    call_id_prefix = OURS
    #: Where what the user says in a live session comes in.
    live_request_queue: LiveRequestQueue | None = None

    def __init__(self, *args: Any, live_request_queue: LiveRequestQueue | None = None, **named: Any) -> None:
        super().__init__(*args, **named)
        if live_request_queue is not None:
            self.live_request_queue = live_request_queue

    @property
    def credential_by_key(self) -> dict[str, AuthCredential]:
        """The credentials that tools of this invocation use, by `credential_key`; never stored."""
        return self.stash[CREDENTIALS]

    @property
    def context_cache_config(self) -> ContextCacheConfig | None:
        """How the app has requests cached, where it does."""
        return getattr(self.app, "context_cache_config", None)
