"""The context of callbacks, tools and nodes. `ToolContext` and `CallbackContext` are names for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel.contexts.readonly_context import ReadonlyContext
from newel.contexts.stash_keys import CONFIGS, CONFIRMATIONS
from newel_kernel import Context as KernelContext
from newel_kernel import EventActions, FeatureUnavailableError, InvocationContext, ToolConfirmation

if TYPE_CHECKING:
    from newel_kernel import CredentialService
    from newel_types import AuthConfig, AuthCredential, Blob

__all__ = ["CallbackContext", "Context", "ToolContext"]


class Context(KernelContext, ReadonlyContext):
    """The context of a callback or a tool call, which may also ask the user for a confirmation or a credential."""

    __slots__ = ("tool_confirmation",)

    def __init__(
        self,
        invocation_context: InvocationContext,
        event_actions: EventActions | None = None,
        function_call_id: str | None = None,
        tool_confirmation: ToolConfirmation | None = None,
    ) -> None:
        super().__init__(invocation_context, event_actions, function_call_id)
        if tool_confirmation is None and CONFIRMATIONS in invocation_context.stash:
            tool_confirmation = invocation_context.stash[CONFIRMATIONS].get(function_call_id)
        #: What the user answered to this call's request for confirmation, where it runs again.
        self.tool_confirmation = tool_confirmation

    def request_confirmation(self, *, hint: str | None = None, payload: object = None) -> None:
        """Ask the user to confirm this tool call."""
        self.actions.requested_tool_confirmations[self._call_id()] = ToolConfirmation(hint=hint or "", payload=payload)

    def request_credential(self, auth_config: AuthConfig) -> None:
        """Ask the user for the credential that `auth_config` describes. What is stored holds none of its secrets."""
        call_id = self._call_id()
        self._invocation_context.stash[CONFIGS][call_id] = auth_config
        self.actions.requested_auth_configs[call_id] = auth_config.sealed()

    def get_auth_response(self, auth_config: AuthConfig) -> AuthCredential | None:
        """The credential that the user gave for `auth_config` in this invocation, or None."""
        key = auth_config.credential_key or ""
        return self.get_credential(key) or self.state.get(f"temp:{key}")

    async def load_credential(self, auth_config: AuthConfig) -> AuthCredential | None:
        """The credential that the credential service holds for `auth_config`, or None."""
        return await self._credentials().load_credential(auth_config, self)

    async def save_credential(self, auth_config: AuthConfig) -> None:
        """Save the exchanged credential of `auth_config`."""
        await self._credentials().save_credential(auth_config, self)

    def send_audio(self, blob: Blob) -> None:
        """Say `blob` into the live session that this call is part of."""
        queue = getattr(self._invocation_context, "live_request_queue", None)
        if queue is None:
            raise FeatureUnavailableError("send_audio() needs a live session: this invocation is none")
        queue.send_realtime(blob)

    def _credentials(self) -> CredentialService:
        return self._needed("credential", self._invocation_context.credential_service)

    def _call_id(self) -> str:
        if not self.function_call_id:
            raise ValueError("only a tool call can ask for a confirmation or a credential: function_call_id is not set")
        return self.function_call_id


def full(context: KernelContext) -> Context:
    """`context`, which newel's own runner has made."""
    if not isinstance(context, Context):
        raise TypeError(f"this needs a context of newel.runners.Runner, and got a {type(context).__name__}")
    return context


ToolContext = Context
CallbackContext = Context
