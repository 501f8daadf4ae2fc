"""OAuth2CredentialRefresher: a new access token for a refresh token."""

from __future__ import annotations

from functools import partial
from typing import Self

from newel.auth.completion import in_thread
from newel.auth.errors import CredentialRefresherError
from newel.auth.refresher.base_credential_refresher import BaseCredentialRefresher
from newel.auth.settings import Settings
from newel.auth.token_endpoint import (
    DEFAULT_POLICY,
    LEEWAY,
    client_of,
    policy_of,
    request_token,
    seconds_left,
    token_url,
    with_tokens,
)
from newel.net import Policy
from newel_types import AuthCredential, AuthScheme


class OAuth2CredentialRefresher(BaseCredentialRefresher):
    """Asks the token endpoint of the scheme, as far as `policy` allows."""

    def __init__(self, policy: Policy = DEFAULT_POLICY) -> None:
        self._policy = policy

    @classmethod
    def for_settings(cls, settings: Settings) -> Self:
        """A refresher that may reach what a distribution's settings allow."""
        return cls(policy_of(settings))

    async def is_refresh_needed(self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None) -> bool:
        """Whether the token has less than a minute left."""
        seconds = seconds_left(auth_credential.oauth2) if auth_credential.oauth2 is not None else None
        return seconds is not None and seconds < LEEWAY

    async def refresh(self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None) -> AuthCredential:
        """The credential with new tokens."""
        oauth2 = auth_credential.oauth2
        if oauth2 is None or not oauth2.refresh_token or auth_scheme is None:
            raise CredentialRefresherError("the credential has expired and has no refresh token", "no_refresh_token")
        url = token_url(auth_scheme)
        client = client_of(oauth2, self._policy, url)
        ask = partial(client.refresh_token, url, oauth2.refresh_token)
        tokens = await in_thread(partial(request_token, url, ask, CredentialRefresherError))
        return auth_credential.model_copy(update={"oauth2": with_tokens(oauth2, tokens)})
