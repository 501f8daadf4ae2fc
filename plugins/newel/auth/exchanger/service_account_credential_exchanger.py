"""ServiceAccountCredentialExchanger: exchanges a Google service account for a bearer token, through google-auth."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol, Self, cast

from newel.auth.errors import CredentialExchangeError
from newel.auth.exchanger.base_credential_exchanger import BaseCredentialExchanger, ExchangeResult
from newel.auth.settings import Settings
from newel.auth.token_endpoint import DEFAULT_POLICY, policy_of, require_encryption
from newel.net import FetchError, Policy, UrlRefusedError, fetch_blocking
from newel_kernel import FeatureUnavailableError
from newel_types import AuthCredential, AuthCredentialTypes, AuthScheme, HttpAuth, HttpCredentials, ServiceAccount

_WHOLE_CLOUD = "https://www.googleapis.com/auth/cloud-platform"


class ServiceAccountCredentialExchanger(BaseCredentialExchanger):
    """Gets an access token for the scopes, or an ID token for the audience."""

    def __init__(self, policy: Policy = DEFAULT_POLICY) -> None:
        self._policy = policy

    @classmethod
    def for_settings(cls, settings: Settings) -> Self:
        """An exchanger that may reach what a distribution's settings allow."""
        return cls(policy_of(settings))

    async def exchange(self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None) -> ExchangeResult:
        """A bearer credential instead of the service account."""
        account = auth_credential.service_account
        if account is None:
            return ExchangeResult(auth_credential, False)
        token, headers = await asyncio.to_thread(_token, account, self._policy)
        bearer = HttpAuth(scheme="bearer", credentials=HttpCredentials(token=token), additional_headers=headers)
        return ExchangeResult(AuthCredential(auth_type=AuthCredentialTypes.HTTP, http=bearer), True)


class _Credentials(Protocol):
    """google-auth's credentials; the library has no annotations of its own."""

    token: str | None

    def refresh(self, request: object) -> None: ...


class _CredentialsType(Protocol):
    def from_service_account_info(self, info: Mapping[str, object], **options: object) -> _Credentials: ...


class _ServiceAccounts(Protocol):
    """The module `google.oauth2.service_account`."""

    Credentials: _CredentialsType
    IDTokenCredentials: _CredentialsType


class _GoogleAuth(Protocol):
    """The module `google.auth`."""

    def default(self, *, scopes: list[str]) -> tuple[_Credentials, str | None]: ...


class _IdTokens(Protocol):
    """The module `google.oauth2.id_token`."""

    def fetch_id_token(self, request: object, audience: str | None) -> object: ...


def _token(account: ServiceAccount, policy: Policy) -> tuple[str, dict[str, str] | None]:
    """The token, and headers that say which project pays."""
    try:
        from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415 - an optional library
        from google.oauth2 import service_account  # noqa: PLC0415 - likewise
    except ImportError as error:
        raise FeatureUnavailableError("service accounts need google-auth: pip install 'newel[auth]'") from error
    scopes = account.scopes or [_WHOLE_CLOUD]
    problem = ""
    try:
        key = account.service_account_credential
        if key is None or account.use_default_credential:
            return _default_token(account, scopes)
        library = cast("_ServiceAccounts", service_account)
        info = {**key.model_dump(exclude={"type_"}), "type": key.type_}
        if account.use_id_token:
            credentials = library.IDTokenCredentials.from_service_account_info(info, target_audience=account.audience)
        else:
            credentials = library.Credentials.from_service_account_info(info, scopes=scopes)
        credentials.refresh(_transport(policy))
        return str(credentials.token), None
    except (GoogleAuthError, ValueError, FetchError, UrlRefusedError) as error:
        problem = type(error).__name__  # its text may quote the key, or the answer
    raise CredentialExchangeError(f"no token for the service account: {problem}")


def _default_token(account: ServiceAccount, scopes: list[str]) -> tuple[str, dict[str, str] | None]:
    """The token of the machine's own credentials. google-auth finds them and asks their service."""
    import google.auth  # noqa: PLC0415 - an optional library
    from google.auth.transport.requests import Request  # noqa: PLC0415 - likewise
    from google.oauth2 import id_token  # noqa: PLC0415 - likewise

    if account.use_id_token:
        return str(cast("_IdTokens", id_token).fetch_id_token(Request(), account.audience)), None
    credentials, _ = cast("_GoogleAuth", google.auth).default(scopes=scopes)
    credentials.refresh(Request())
    project = getattr(credentials, "quota_project_id", None)
    return str(credentials.token), {"x-goog-user-project": project} if project else None


class _Response:
    """A reply as google-auth reads it."""

    def __init__(self, status: int, headers: Mapping[str, str], data: bytes) -> None:
        self.status, self.headers, self.data = status, headers, data


def _transport(policy: Policy) -> Callable[..., _Response]:
    def request(
        url: str,
        method: str = "GET",
        body: str | bytes | None = None,
        headers: Mapping[str, str] | None = None,
        **_: object,
    ) -> _Response:
        require_encryption(url, policy)
        data = body.encode() if isinstance(body, str) else body
        reply = fetch_blocking(url, policy, method=method, headers=headers, body=data)
        return _Response(reply.status, reply.headers, reply.body)

    return request
