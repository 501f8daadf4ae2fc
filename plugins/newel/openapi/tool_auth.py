"""ToolAuthHandler: the credential of a tool of your own that calls an API, found, or asked for from the user."""

from __future__ import annotations

import asyncio
from typing import Literal, Self, TypeAlias

from pydantic import BaseModel, SerializeAsAny

from newel.auth.credential_manager import CredentialManager
from newel.contexts.context import full
from newel.openapi.exchangers import AutoAuthCredentialExchanger, BaseAuthCredentialExchanger
from newel.openapi.sign_in import SignIn
from newel_kernel import Context
from newel_types import AuthConfig, AuthCredential, AuthScheme

AuthPreparationState: TypeAlias = Literal["pending", "done"]
UnauthorizedRecoveryState: TypeAlias = Literal["refreshed", "reauth_requested", "failed"]


class AuthPreparationResult(BaseModel):
    """Whether the credential is there (``done``) or the user was asked (``pending``), and which one it is."""

    state: AuthPreparationState
    auth_scheme: SerializeAsAny[AuthScheme] | None = None
    auth_credential: AuthCredential | None = None


class ToolAuthHandler:
    """Gets the credential for a call. It is kept where the app keeps credentials, never in the session's state."""

    def __init__(
        self,
        tool_context: Context,
        auth_scheme: AuthScheme | None,
        auth_credential: AuthCredential | None,
        credential_exchanger: BaseAuthCredentialExchanger | None = None,
        *,
        credential_key: str | None = None,
    ) -> None:
        self.tool_context = full(tool_context)
        self.auth_scheme = auth_scheme
        self.auth_credential = auth_credential
        self.credential_exchanger = credential_exchanger or AutoAuthCredentialExchanger()
        self._credential_key = credential_key

    @classmethod
    def from_tool_context(
        cls,
        tool_context: Context,
        auth_scheme: AuthScheme | None,
        auth_credential: AuthCredential | None,
        credential_exchanger: BaseAuthCredentialExchanger | None = None,
        *,
        credential_key: str | None = None,
    ) -> Self:
        """The handler of a call."""
        return cls(tool_context, auth_scheme, auth_credential, credential_exchanger, credential_key=credential_key)

    async def prepare_auth_credentials(self) -> AuthPreparationResult:
        """The credential to send; ``pending`` once the user was asked: end the call, it runs again with the answer."""
        config = self._config()
        if config is None:
            return AuthPreparationResult(state="done")
        manager = CredentialManager(config)
        credential = await manager.get_auth_credential(self.tool_context)
        if credential is None:
            await manager.request_credential(self.tool_context)
            return AuthPreparationResult(
                state="pending", auth_scheme=self.auth_scheme, auth_credential=self.auth_credential
            )
        exchange = self.credential_exchanger.exchange_credential  # may block
        exchanged = await asyncio.to_thread(exchange, config.auth_scheme, credential)
        return AuthPreparationResult(state="done", auth_scheme=self.auth_scheme, auth_credential=exchanged)

    async def handle_unauthorized_error(self) -> UnauthorizedRecoveryState:
        """After a 401: drop the credential; ``refreshed`` if there is another one, else the user is asked."""
        config = self._config()
        if config is None:
            return "failed"
        manager = CredentialManager(config)
        refused = await manager.get_auth_credential(self.tool_context)
        if refused is None or not await SignIn.using(self.tool_context, config, refused).forget():
            return "failed"
        if await manager.get_auth_credential(self.tool_context) is not None:
            return "refreshed"
        await manager.request_credential(self.tool_context)
        return "reauth_requested"

    def _config(self) -> AuthConfig | None:
        if self.auth_scheme is None:
            return None
        return AuthConfig(
            auth_scheme=self.auth_scheme,
            raw_auth_credential=self.auth_credential,
            credential_key=self._credential_key,
        )
