"""ServiceAccountCredentialExchanger: a Google service account for a bearer token, through google-auth."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from newel.auth.errors import CredentialExchangeError
from newel.auth.exchanger.base_credential_exchanger import BaseCredentialExchanger, ExchangeResult
from newel.auth.token_endpoint import DEFAULT_POLICY, require_encryption
from newel.net_guard import FetchError, Policy, UrlRefusedError, fetch_blocking
from newel_kernel import FeatureUnavailableError
from newel_types import AuthCredential, AuthCredentialTypes, HttpAuth, HttpCredentials, ServiceAccount
from newel_types import AuthScheme

_WHOLE_CLOUD = "https://www.googleapis.com/auth/cloud-platform"


class ServiceAccountCredentialExchanger(BaseCredentialExchanger):
    """Gets an access token for the scopes, or an ID token for the audience."""

    def __init__(self, policy: Policy = DEFAULT_POLICY) -> None:
        self._policy = policy

    async def exchange(self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None) -> ExchangeResult:
        """A bearer credential in place of the service account."""
        account = auth_credential.service_account
        if account is None:
            return ExchangeResult(auth_credential, False)
        token, headers = await asyncio.to_thread(_token, account, self._policy)
        bearer = HttpAuth(scheme="bearer", credentials=HttpCredentials(token=token), additional_headers=headers)
        return ExchangeResult(AuthCredential(auth_type=AuthCredentialTypes.HTTP, http=bearer), True)


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
        library: Any = service_account  # it has no annotations
        info = {**key.model_dump(exclude={"type_"}), "type": key.type_}
        if account.use_id_token:
            made = library.IDTokenCredentials.from_service_account_info(info, target_audience=account.audience)
        else:
            made = library.Credentials.from_service_account_info(info, scopes=scopes)
        made.refresh(_transport(policy))
        return str(made.token), None
    except (GoogleAuthError, ValueError, FetchError, UrlRefusedError) as error:
        problem = type(error).__name__  # its text may quote the key, or the answer
    raise CredentialExchangeError(f"no token for the service account: {problem}")


def _default_token(account: ServiceAccount, scopes: list[str]) -> tuple[str, dict[str, str] | None]:
    """The token of the machine's own credentials. google-auth finds them, and asks where its environment says."""
    import google.auth  # noqa: PLC0415 - an optional library
    from google.auth.transport.requests import Request  # noqa: PLC0415 - likewise
    from google.oauth2 import id_token  # noqa: PLC0415 - likewise

    library: Any = google.auth
    if account.use_id_token:
        tokens: Any = id_token
        return str(tokens.fetch_id_token(Request(), account.audience)), None
    credentials, _ = library.default(scopes=scopes)
    credentials.refresh(Request())
    project = getattr(credentials, "quota_project_id", None)
    return str(credentials.token), {"x-goog-user-project": project} if project else None


class _Response:
    """A reply as google-auth reads it."""

    def __init__(self, status: int, headers: Mapping[str, str], data: bytes) -> None:
        self.status, self.headers, self.data = status, headers, data


def _transport(policy: Policy) -> Any:
    def request(
        url: str, method: str = "GET", body: Any = None, headers: Mapping[str, str] | None = None, **_: Any
    ) -> _Response:
        require_encryption(url, policy)
        sent = body.encode() if isinstance(body, str) else body
        reply = fetch_blocking(url, policy, method=method, headers=headers, body=sent)
        return _Response(reply.status, reply.headers, reply.body)

    return request
