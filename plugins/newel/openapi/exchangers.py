"""Exchangers: what a credential becomes before it is sent, under the released names; they block until they have it."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from newel.auth.errors import CredentialExchangeError
from newel.auth.exchanger import service_account_credential_exchanger as service_accounts
from newel.auth.refresher.oauth2_credential_refresher import OAuth2CredentialRefresher
from newel_kernel import NewelError
from newel_types import (
    AuthCredential,
    AuthCredentialTypes,
    AuthScheme,
    HttpAuth,
    HttpCredentials,
    OAuth2,
    OpenIdConnect,
    OpenIdConnectWithConfig,
)

T = TypeVar("T")
_TOKENS = (OAuth2, OpenIdConnect, OpenIdConnectWithConfig)


class AuthCredentialMissingError(CredentialExchangeError):
    """There is no credential, or it lacks what is needed."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class BaseAuthCredentialExchanger(ABC):
    """Makes of a credential what is sent; subclass it for a kind of your own."""

    @abstractmethod
    def exchange_credential(
        self, auth_scheme: AuthScheme, auth_credential: AuthCredential | None = None
    ) -> AuthCredential | None:
        """The credential to send; None if there is none."""


class OAuth2CredentialExchanger(BaseAuthCredentialExchanger):
    """An access token as a bearer token. One that has expired is renewed first, if it can be."""

    def exchange_credential(
        self, auth_scheme: AuthScheme, auth_credential: AuthCredential | None = None
    ) -> AuthCredential | None:
        """The bearer token; None if the user has not yet consented. Raises ValueError for another kind."""
        if auth_credential is None or (auth_credential.oauth2 is None and auth_credential.http is None):
            raise ValueError("OAuth 2 and OpenID Connect need an AuthCredential with `oauth2`")
        if not isinstance(auth_scheme, _TOKENS):
            raise ValueError(f"the scheme must be oauth2 or openIdConnect, not {type(auth_scheme).__name__}")
        if auth_credential.oauth2 is None:
            return auth_credential
        if not auth_credential.oauth2.access_token:
            return None
        return self.generate_auth_token(_blocking(_renewed(auth_credential, auth_scheme)))

    def generate_auth_token(self, auth_credential: AuthCredential | None = None) -> AuthCredential | None:
        """A credential with an access token as a bearer token; any other one unchanged."""
        oauth2 = auth_credential.oauth2 if auth_credential is not None else None
        return _bearer(oauth2.access_token) if oauth2 is not None and oauth2.access_token else auth_credential


class ServiceAccountCredentialExchanger(BaseAuthCredentialExchanger):
    """A service account's token, through google-auth."""

    def exchange_credential(
        self, auth_scheme: AuthScheme, auth_credential: AuthCredential | None = None
    ) -> AuthCredential | None:
        """The bearer token; raises AuthCredentialMissingError without an account, or if it gets no token."""
        if auth_credential is None or auth_credential.service_account is None:
            raise AuthCredentialMissingError(
                "there is no service account: give one, or `use_default_credential=True` for the machine's own"
            )
        exchanger = service_accounts.ServiceAccountCredentialExchanger()
        try:
            return _blocking(exchanger.exchange(auth_credential, auth_scheme)).credential
        except CredentialExchangeError as error:
            raise AuthCredentialMissingError(str(error)) from error


class AutoAuthCredentialExchanger(BaseAuthCredentialExchanger):
    """Leaves it to the exchanger of the credential's type; `custom_exchangers` are further ones, or others."""

    def __init__(
        self, custom_exchangers: Mapping[AuthCredentialTypes, type[BaseAuthCredentialExchanger]] | None = None
    ) -> None:
        self.exchangers: dict[AuthCredentialTypes, type[BaseAuthCredentialExchanger]] = {
            AuthCredentialTypes.OAUTH2: OAuth2CredentialExchanger,
            AuthCredentialTypes.OPEN_ID_CONNECT: OAuth2CredentialExchanger,
            AuthCredentialTypes.SERVICE_ACCOUNT: ServiceAccountCredentialExchanger,
            **(custom_exchangers or {}),
        }

    def exchange_credential(
        self, auth_scheme: AuthScheme, auth_credential: AuthCredential | None = None
    ) -> AuthCredential | None:
        """What the exchanger makes of it; a credential of a type without one is sent unchanged."""
        kind = self.exchangers.get(auth_credential.auth_type) if auth_credential is not None else None
        return auth_credential if kind is None else kind().exchange_credential(auth_scheme, auth_credential)


def _bearer(token: str) -> AuthCredential:
    http = HttpAuth(scheme="bearer", credentials=HttpCredentials(token=token))
    return AuthCredential(auth_type=AuthCredentialTypes.HTTP, http=http)


async def _renewed(credential: AuthCredential, scheme: AuthScheme) -> AuthCredential:
    """The credential, or a newer one if its token has expired; the old one if there is none to be had."""
    refresher = OAuth2CredentialRefresher()
    if credential.oauth2 is None or not credential.oauth2.refresh_token:
        return credential
    try:
        if await refresher.is_refresh_needed(credential, scheme):
            return await refresher.refresh(credential, scheme)
    except NewelError:
        pass  # the server of the API says what is wrong with the old one
    return credential


def _blocking(work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives, from a loop of its own: the caller may be in one that runs."""
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001 - raised below, in the caller's thread
            failure.append(error)

    thread = threading.Thread(target=run, name="newel-credential", daemon=True)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
