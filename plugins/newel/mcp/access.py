"""Access: the headers with which somebody calls a server, and the credential among them."""

from __future__ import annotations

import base64
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from newel.auth.credential_manager import CredentialManager
from newel.contexts.context import Context, full
from newel.contexts.stash_keys import CREDENTIALS
from newel.mcp.authorization import discovered
from newel.mcp.errors import McpUnauthorizedError
from newel.mcp.parameters import ConnectionParams, StdioConnectionParams, identity
from newel_kernel import ConfigurationError, ReadonlyContext
from newel_types import APIKey, APIKeyIn, AuthConfig, AuthCredential, AuthScheme

#: Makes the headers of who calls.
HeaderProvider: TypeAlias = Callable[[ReadonlyContext], Mapping[str, str] | Awaitable[Mapping[str, str]]]


class Access:
    """Who calls a server, as the server sees it: the headers of a provider, and those of a credential.

    Without an `auth_scheme` the one that the server names with its first 401 is taken, if there is a credential with
    the `client_id` that the app has at the authorization server.
    """

    def __init__(
        self,
        params: ConnectionParams,
        provider: HeaderProvider | None = None,
        auth_scheme: AuthScheme | None = None,
        auth_credential: AuthCredential | None = None,
        credential_key: str | None = None,
    ) -> None:
        if isinstance(params, StdioConnectionParams) and (auth_scheme or auth_credential):
            raise ConfigurationError("a server in a process gets its credentials in `env`, not by an auth_scheme")
        self._params = params
        self._provider = provider
        self._credential = auth_credential
        self._key = credential_key
        self.config = self._config(auth_scheme) if auth_scheme is not None else None

    def _config(self, scheme: AuthScheme) -> AuthConfig:
        key = self._key or f"mcp_{identity(self._params)}"
        return AuthConfig(auth_scheme=scheme, raw_auth_credential=self._credential, credential_key=key)

    async def headers(self, context: ReadonlyContext | None) -> dict[str, str]:
        """The headers of who calls; none without a context."""
        if context is None:
            return {}
        headers: dict[str, str] = {}
        if self._provider is not None:
            made = self._provider(context)
            given = await made if inspect.isawaitable(made) else made
            headers.update((str(name), str(value)) for name, value in (given or {}).items())
        if self.config is not None and (credential := await self._known(context)) is not None:
            headers.update(headers_of(credential, self.config.auth_scheme))
        return headers

    async def refused(self, error: McpUnauthorizedError, context: ReadonlyContext) -> bool:
        """Take up a refusal: whether the user can be asked for a credential, which the next attempt will send."""
        if self.config is None:
            if self._credential is None or isinstance(self._params, StdioConnectionParams):
                return False
            self.config = self._config(await discovered(self._params.url, error.challenge, context))
            return True
        if await self._known(context) is None:
            return True
        await self._forget(full(context) if isinstance(context, Context) else None)
        return self.config.raw_auth_credential is None or self.config.raw_auth_credential.oauth2 is not None

    async def ask(self, context: Context) -> None:
        """Ask the user for the credential, on behalf of the call that runs."""
        assert self.config is not None
        await CredentialManager(self.config).request_credential(context)

    async def _known(self, context: ReadonlyContext) -> AuthCredential | None:
        config = self.config
        assert config is not None
        held = context._invocation_context.stash[CREDENTIALS].get(config.credential_key or "")
        if held is not None or not isinstance(context, Context):
            return held
        return await CredentialManager(config).get_auth_credential(context)

    async def _forget(self, context: Context | None) -> None:
        """Forget a credential that the server refuses, here and in the store."""
        if context is None or self.config is None:
            return
        ctx = context.get_invocation_context()
        ctx.stash[CREDENTIALS].pop(self.config.credential_key or "", None)
        if ctx.credential_service is not None:
            await context.save_credential(self.config.model_copy(update={"exchanged_auth_credential": None}))


def headers_of(credential: AuthCredential, scheme: AuthScheme) -> dict[str, str]:
    """The headers that carry a credential."""
    if credential.oauth2 is not None and credential.oauth2.access_token:
        return {"Authorization": f"Bearer {credential.oauth2.access_token}"}
    if credential.http is not None:
        given = credential.http.credentials
        value = given.token
        if value is None and given.username is not None:
            value = base64.b64encode(f"{given.username}:{given.password or ''}".encode()).decode()
        return {
            "Authorization": f"{credential.http.scheme.title()} {value}",
            **(credential.http.additional_headers or {}),
        }
    if credential.api_key is not None and isinstance(scheme, APIKey) and scheme.in_ is APIKeyIn.header:
        return {scheme.name: credential.api_key}
    raise ConfigurationError(
        f"a credential of the type {credential.auth_type.value} cannot be sent to an MCP server: use oauth2, http, or "
        f"an API key in a header"
    )
