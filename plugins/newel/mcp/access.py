"""Access: the headers with which somebody calls a server, and the credential among them."""

from __future__ import annotations

import base64
import hashlib
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from newel.auth.client_registration import client_at, is_document
from newel.auth.credential_manager import CredentialManager
from newel.auth.settings import settings_of
from newel.auth.token_endpoint import policy_of
from newel.contexts.context import Context, full
from newel.contexts.stash_keys import CREDENTIALS
from newel.mcp.authorization import Discovered, broader, discovered
from newel.mcp.errors import McpUnauthorizedError, is_short_of_scopes
from newel.mcp.parameters import ConnectionParams, StdioConnectionParams, identity
from newel_kernel import ConfigurationError, ReadonlyContext, seam
from newel_types import APIKey, APIKeyIn, AuthConfig, AuthCredential, AuthScheme, OAuth2Auth

#: Makes the headers of who calls.
HeaderProvider: TypeAlias = Callable[[ReadonlyContext], Mapping[str, str] | Awaitable[Mapping[str, str]]]


class Access:
    """Who calls a server, as the server sees it: the headers of a provider, and those of a credential.

    Without an `auth_scheme` the one that the server names with its first 401 is taken, if there is a credential. Its
    `client_id` is the app's at the authorization server, or the address of a document about the app. Without one the
    app registers itself, with the `redirect_uri` of the credential.
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
            found = await discovered(self._params.url, error.challenge, context)
            self._credential = await self._with_client(self._credential, found, context)
            self.config = self._config(found.scheme)
            return True
        if is_short_of_scopes(error.challenge):
            scheme = broader(self.config.auth_scheme, error.challenge)
            if scheme is None:
                return False  # it was granted, and is not enough
            self.config = self._config(scheme)
        elif await self._known(context) is None:
            return True
        await self._forget(full(context) if isinstance(context, Context) else None)
        return self.config.raw_auth_credential is None or self.config.raw_auth_credential.oauth2 is not None

    async def _with_client(
        self, credential: AuthCredential, found: Discovered, context: ReadonlyContext
    ) -> AuthCredential:
        """`credential` with a client that the authorization server knows; one that registers itself is kept."""
        if credential.oauth2 is None:
            return credential
        key = f"mcp_client_{identity(self._params)}_{hashlib.sha256(found.server.issuer.encode()).hexdigest()[:16]}"
        kept = AuthConfig(auth_scheme=found.scheme, credential_key=key)
        store = context if isinstance(context, Context) and context._invocation_context.credential_service else None
        registers = not credential.oauth2.client_id or is_document(credential.oauth2.client_id)
        if registers and store is not None and (known := await store.load_credential(kept)) is not None:
            own = known.oauth2
            if own is not None and own.redirect_uri == credential.oauth2.redirect_uri and not _is_over(own):
                return credential.model_copy(update={"oauth2": own.model_copy(update={"expires_at": None})})
        oauth2 = await client_at(found.server, credential.oauth2, policy_of(settings_of(context)))
        made = credential.model_copy(update={"oauth2": oauth2})
        if store is not None and oauth2.client_id != credential.oauth2.client_id:
            await store.save_credential(kept.model_copy(update={"exchanged_auth_credential": made}))
        return made.model_copy(update={"oauth2": oauth2.model_copy(update={"expires_at": None})})

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


def _is_over(oauth2: OAuth2Auth) -> bool:
    """Whether a registered client's secret has expired."""
    return oauth2.expires_at is not None and oauth2.expires_at <= seam.clock()


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
