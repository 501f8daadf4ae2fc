"""CloudClient: JSON and files over the REST interfaces of Google Cloud."""

from __future__ import annotations

import json
import os
import threading
from typing import IO, Any, Protocol, cast
from urllib.parse import urlsplit

from newel.evaluation.runs.limits import ATTEMPTS, retry_delay
from newel.net import FetchError, Policy, Reply, fetch_blocking
from newel_kernel import ConfigurationError, FeatureUnavailableError, NewelError

_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
_LOGIN = "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to a key file"


class CloudError(NewelError, OSError):
    """A service of the cloud refused a request, or could not be reached."""

    def __init__(self, text: str, status_code: int = 0, retry_after: str | None = None) -> None:
        super().__init__(text)
        self.status_code, self.retry_after = status_code, retry_after


class Credentials(Protocol):
    """The part of google-auth's credentials that is used; the library has no annotations of its own."""

    token: str | None
    quota_project_id: str | None

    @property
    def valid(self) -> bool:
        """Whether the token can be used."""

    def refresh(self, request: object) -> None:
        """Get a new token."""


class _GoogleAuth(Protocol):
    def default(self, *, scopes: list[str]) -> tuple[Credentials, str | None]: ...


class CloudClient:
    """One service at `base`.

    It signs in with `api_key`, else with `credentials` of google-auth, else with the machine's credentials. With
    `anonymous`, for emulators, it does not sign in.
    """

    def __init__(
        self,
        base: str,
        *,
        api_key: str | None = None,
        credentials: Credentials | None = None,
        anonymous: bool = False,
        own_host: bool = False,
    ) -> None:
        self._base = base.rstrip("/")
        self._api_key, self._credentials, self._anonymous = api_key, credentials, anonymous
        self._lock = threading.Lock()
        # A host that the user named may be in the user's own network.
        allow = (urlsplit(self._base).hostname or "",) if own_host else ()
        self._policy = Policy(allow=allow, max_bytes=200_000_000, seconds=120.0)

    def json(self, method: str, path: str, body: object = None) -> Any:
        """The answer to a request as data; a CloudError says why the service refused it."""
        data = None if body is None else json.dumps(body).encode()
        reply = self.ask(method, path, data, "application/json")
        self.check(reply, path)
        try:
            return json.loads(reply.body or b"{}")
        except ValueError:
            raise CloudError(f"{reply.url} answered with something that is not JSON") from None

    def ask(self, method: str, path: str, body: bytes | IO[bytes] | None = None, content_type: str = "") -> Reply:
        """The raw answer."""
        headers = self._headers()
        if content_type:
            headers["Content-Type"] = content_type
        try:
            return fetch_blocking(f"{self._base}{path}", self._policy, method=method, headers=headers, body=body)
        except FetchError as error:
            raise CloudError(str(error)) from error

    def check(self, reply: Reply, path: str) -> None:
        """Raise a CloudError if the service refused."""
        if reply.status < 400:
            return
        remedy = ""
        if reply.status in (401, 403):
            remedy = f"; the credentials may not do this: {_LOGIN}, of an account with access to the project"
        where = path.partition("?")[0]
        raise CloudError(
            f"{self._base}{where} answered {reply.status}: {_message(reply.body)}{remedy}",
            reply.status,
            reply.headers.get("retry-after"),
        )

    def _headers(self) -> dict[str, str]:
        if self._api_key is not None:
            return {"x-goog-api-key": self._api_key}
        if self._anonymous:
            return {}
        with self._lock:
            credentials = self._credentials = self._credentials or _of_the_machine()
            _refresh(credentials)
        headers = {"Authorization": f"Bearer {credentials.token}"}
        project = getattr(credentials, "quota_project_id", None)
        return {**headers, "x-goog-user-project": project} if project else headers


def delay_of(error: CloudError, attempt: int) -> float | None:
    """The seconds to wait before a busy service is asked again; None: it is not asked again."""
    return retry_delay(error, attempt) if attempt < ATTEMPTS else None


def project_and_location() -> tuple[str, str]:
    """The project that pays, and its location; a ConfigurationError names what is missing."""
    values = {name: os.environ.get(name, "") for name in ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION")}
    missing = " and ".join(name for name, value in values.items() if not value)
    if missing:
        raise ConfigurationError(
            f"the cloud's evaluation service needs a project and a location: set {missing} (or GOOGLE_API_KEY for the "
            f"express mode), or leave `backend` out and let a judge model score"
        )
    return values["GOOGLE_CLOUD_PROJECT"], values["GOOGLE_CLOUD_LOCATION"]


def _of_the_machine() -> Credentials:
    try:
        import google.auth  # noqa: PLC0415 - an optional library
        from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415 - likewise
    except ImportError as error:
        raise FeatureUnavailableError("Google Cloud needs google-auth: pip install 'newel[auth]'") from error
    try:
        return cast("_GoogleAuth", google.auth).default(scopes=_SCOPES)[0]
    except GoogleAuthError as error:
        problem = type(error).__name__  # its text may quote a key
    raise ConfigurationError(f"there are no credentials for Google Cloud ({problem}): {_LOGIN}")


def _refresh(credentials: Credentials) -> None:
    if credentials.valid:
        return
    from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415 - an optional library
    from google.auth.transport.requests import Request  # noqa: PLC0415 - likewise

    try:
        credentials.refresh(Request())
        return
    except (GoogleAuthError, ValueError) as error:
        problem = type(error).__name__
    raise ConfigurationError(f"the credentials for Google Cloud give no token ({problem}): {_LOGIN}")


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"]["message"])[:500]
    except (ValueError, KeyError, TypeError):
        return body[:200].decode("utf-8", "replace").strip() or "nothing"
