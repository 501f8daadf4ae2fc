"""OAuth2CredentialExchanger: exchanges authorization codes, or the client's own credentials, for access tokens."""

from __future__ import annotations

import base64
import json
from functools import partial
from typing import Self

from newel.auth.completion import in_thread
from newel.auth.errors import AuthConfigError, CredentialExchangeError
from newel.auth.exchanger.base_credential_exchanger import BaseCredentialExchanger, ExchangeResult
from newel.auth.settings import Settings
from newel.auth.token_endpoint import (
    DEFAULT_POLICY,
    client_of,
    grant_of,
    place_of,
    policy_of,
    request_token,
    resource_of,
    token_url,
    with_tokens,
)
from newel.net import Policy
from newel_types import AuthCredential, AuthScheme, OAuth2Auth, OAuthGrantType


class OAuth2CredentialExchanger(BaseCredentialExchanger):
    """Asks the token endpoint of the scheme, as far as `policy` allows."""

    def __init__(self, policy: Policy = DEFAULT_POLICY) -> None:
        self._policy = policy

    @classmethod
    def for_settings(cls, settings: Settings) -> Self:
        """An exchanger that may reach what a distribution's settings allow."""
        return cls(policy_of(settings))

    async def exchange(self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None) -> ExchangeResult:
        """The credential with a token; unchanged if it has one, or has nothing to get a token for."""
        oauth2 = auth_credential.oauth2
        if auth_scheme is None:
            raise CredentialExchangeError("an OAuth2 credential is exchanged for a scheme: give auth_scheme")
        if oauth2 is None or oauth2.access_token:
            return ExchangeResult(auth_credential, False)
        grant = grant_of(auth_scheme)
        if grant is OAuthGrantType.CLIENT_CREDENTIALS:
            return await self._ask(auth_credential, oauth2, auth_scheme, scope=_scope(auth_scheme))
        if grant is OAuthGrantType.AUTHORIZATION_CODE and oauth2.auth_code:
            values = {"code": oauth2.auth_code, "code_verifier": oauth2.code_verifier}
            return await self._ask(auth_credential, oauth2, auth_scheme, **values)
        return ExchangeResult(auth_credential, False)

    async def _ask(
        self, credential: AuthCredential, oauth2: OAuth2Auth, scheme: AuthScheme, **values: str | None
    ) -> ExchangeResult:
        if not oauth2.client_id:
            raise AuthConfigError("an OAuth2 credential needs a client_id to get a token")
        url = token_url(scheme)
        client = client_of(oauth2, self._policy, url)
        grant = "authorization_code" if "code" in values else "client_credentials"
        fields = {name: value for name, value in values.items() if value} | resource_of(scheme)
        ask = partial(client.fetch_token, url, grant_type=grant, **fields)
        tokens = await in_thread(partial(request_token, url, ask))
        exchanged = with_tokens(oauth2, tokens)
        check_id_token(exchanged, url)
        return ExchangeResult(credential.model_copy(update={"oauth2": exchanged}), True)


def _scope(scheme: AuthScheme) -> str | None:
    flows = getattr(scheme, "flows", None)
    declared = flows.clientCredentials.scopes if flows is not None else getattr(scheme, "scopes", None)
    return " ".join(declared or ()) or None


def check_id_token(oauth2: OAuth2Auth, url: str) -> None:
    """Raise if an ID token is for another client, or answers another request.

    Its signature is not checked: it came straight from the token endpoint, over TLS (OpenID Connect Core 3.1.3.7).
    """
    if not oauth2.id_token or not oauth2.nonce:
        return
    try:
        part = oauth2.id_token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        audience = claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        fits = claims.get("nonce") == oauth2.nonce and oauth2.client_id in audiences
    except (ValueError, IndexError, AttributeError):
        fits = False
    if not fits:
        raise CredentialExchangeError(f"the ID token from {place_of(url)} is not for this request")
