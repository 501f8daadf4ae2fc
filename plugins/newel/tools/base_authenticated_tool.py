"""BaseAuthenticatedTool: a tool that gets its credential with the call, or asks the user for it."""

from __future__ import annotations

from newel.auth.credential_manager import CredentialManager
from newel.auth.secrecy import guarded
from newel.contexts.context import full
from newel_kernel import BaseTool, Json, ToolContext
from newel_types import AuthConfig, AuthCredential

#: The result that the model gets while the user is asked.
PENDING = "Pending User Authorization."


class BaseAuthenticatedTool(BaseTool):
    """Subclass it and implement `_run_async_impl`. Without an `auth_config` the credential is None."""

    def __init__(
        self,
        *,
        name: str,
        description: str,
        auth_config: AuthConfig | None = None,
        response_for_auth_required: Json | str | None = None,
    ) -> None:
        super().__init__(name=name, description=description)
        self._auth_config = auth_config
        self._credentials_manager = CredentialManager(auth_config) if auth_config is not None else None
        self._response_for_auth_required = response_for_auth_required

    async def run_async(self, *, args: Json, tool_context: ToolContext) -> object:
        """The result; or, once the user was asked for the credential, the response that says so."""
        manager, credential = self._credentials_manager, None
        if manager is not None:
            credential = await manager.get_or_request(full(tool_context))
            if credential is None:
                return self._response_for_auth_required or PENDING
        result = self._run_async_impl(args=args, tool_context=tool_context, credential=credential)
        return await guarded(tool_context, result)

    async def _run_async_impl(
        self, *, args: Json, tool_context: ToolContext, credential: AuthCredential | None
    ) -> object:
        """Run the tool with its credential."""
        raise NotImplementedError(f"{type(self).__name__} does not implement _run_async_impl")
