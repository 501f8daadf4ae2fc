"""Token endpoints: OAuth2 requests, made by Authlib, sent through the guard of outgoing requests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Protocol
from urllib.parse import urlencode, urlsplit

from newel.auth.errors import AuthConfigError, CredentialExchangeError
from newel.auth.settings import DEFAULT, Settings
from newel.net import FetchError, Policy, UrlRefusedError, fetch_blocking
from newel_kernel import FeatureUnavailableError, Json, seam
from newel_types import AuthScheme, OAuth2, OAuth2Auth, OAuthGrantType, OpenIdConnectWithConfig

#: The form of error codes in RFC 6749 and its extensions; anything else a server sends is not repeated.
_CODE = re.compile(r"[a-z_]{3,40}")
#: A token counts as expired this many seconds early.
LEEWAY = 60


def policy_of(settings: Settings) -> Policy:
    """The policy of token requests; no redirects, which would carry the secrets elsewhere."""
    return Policy(allow=tuple(settings.allow_hosts), max_bytes=1_000_000, seconds=settings.seconds, max_redirects=0)


#: The policy without a distribution's settings.
DEFAULT_POLICY = policy_of(DEFAULT)


class _Answer:
    """A reply as Authlib reads it."""

    def __init__(self, status: int, body: bytes) -> None:
        self.status_code = status
        self._body = body

    def json(self) -> object:
        """The body; without the server's description of an error, which may quote the request."""
        answer = json.loads(self._body)
        if isinstance(answer, dict):
            answer.pop("error_description", None)
        return answer

    def raise_for_status(self) -> None:
        if self.status_code >= 400:
            raise FetchError(f"status {self.status_code}")


class _Signature(Protocol):
    """Authlib's object by which a client proves who it is."""

    def prepare(self, method: str, uri: str, headers: dict[str, str], body: str) -> tuple[str, dict[str, str], str]:
        """The address, the headers and the body with the proof in them."""


class TokenClient(Protocol):
    """Authlib's client, which has no annotations of its own."""

    def create_authorization_url(
        self, url: str, state: str | None = None, code_verifier: str | None = None, **options: object
    ) -> tuple[str, str]:
        """The URL at which the user consents, and the state in it."""

    def fetch_token(self, url: str, *, grant_type: str, **fields: object) -> Json:
        """The answer of the token endpoint."""

    def refresh_token(self, url: str, refresh_token: str | None = None) -> Json:
        """Its answer to a refresh token."""

    def register_client_auth_method(self, auth: object) -> None:
        """Let the client prove who it is in one more way."""


class _Session:
    """The one method of an HTTP session that Authlib's client calls to get tokens."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def post(
        self,
        url: str,
        *,
        data: Mapping[str, str],
        headers: Mapping[str, str],
        auth: _Signature | None = None,
        **_: object,
    ) -> _Answer:
        body, sent = urlencode(data), dict(headers)
        if auth is not None:
            url, sent, body = auth.prepare("POST", url, sent, body)
        require_encryption(url, self._policy)
        reply = fetch_blocking(url, self._policy, method="POST", headers=sent, body=body.encode())
        return _Answer(reply.status, reply.body)


def require_encryption(url: str, policy: Policy) -> None:
    """Raise UrlRefusedError if secrets would travel in clear text to a host that the operator did not name."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not {parts.hostname, parts.netloc} & set(policy.allow):
        raise UrlRefusedError(
            f"{place_of(url)} is not https: credentials are sent there only if the setting auth.allow_hosts names it"
        )


def place_of(url: str) -> str:
    """A URL without what may be secret in it: scheme, host and path."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or '?'}{f':{parts.port}' if parts.port else ''}{parts.path}"


def grant_of(scheme: AuthScheme) -> OAuthGrantType | None:
    """The grant that gives a scheme's tokens, or None."""
    if isinstance(scheme, OAuth2):
        return OAuthGrantType.from_flow(scheme.flows)
    if isinstance(scheme, OpenIdConnectWithConfig):
        for_app = "client_credentials" in (scheme.grant_types_supported or ())
        return OAuthGrantType.CLIENT_CREDENTIALS if for_app else OAuthGrantType.AUTHORIZATION_CODE
    return None


def resource_of(scheme: AuthScheme) -> Json:
    """The parameter that binds a token to the service that a scheme's `resource` names, if it has one (RFC 8707)."""
    resource = (getattr(scheme, "model_extra", None) or {}).get("resource")
    return {"resource": resource} if isinstance(resource, str) else {}


def token_url(scheme: AuthScheme) -> str:
    """The token endpoint; raises AuthConfigError if the scheme names none."""
    if isinstance(scheme, OpenIdConnectWithConfig):
        return scheme.token_endpoint
    flows = scheme.flows if isinstance(scheme, OAuth2) else None
    for flow in (flows.authorizationCode, flows.clientCredentials, flows.password) if flows is not None else ():
        if flow is not None and flow.tokenUrl:
            return flow.tokenUrl
    raise AuthConfigError(f"the {type(scheme).__name__} scheme names no token endpoint")


def client_of(oauth2: OAuth2Auth, policy: Policy, url: str = "", **options: object) -> TokenClient:
    """Authlib's client for a credential; without a client secret it is a public client."""
    try:
        from authlib.oauth2.client import OAuth2Client  # noqa: PLC0415 - an optional library
        from authlib.oauth2.rfc7523 import ClientSecretJWT, PrivateKeyJWT  # noqa: PLC0415 - likewise
    except ImportError as error:
        raise FeatureUnavailableError("OAuth2 and OpenID Connect need Authlib: pip install 'newel[auth]'") from error
    method = oauth2.token_endpoint_auth_method if oauth2.client_secret else "none"
    client: TokenClient = OAuth2Client(
        _Session(policy),
        client_id=oauth2.client_id,
        client_secret=oauth2.client_secret,
        token_endpoint_auth_method=method,
        redirect_uri=oauth2.redirect_uri,
        leeway=LEEWAY,
        **options,
    )
    if method in ("client_secret_jwt", "private_key_jwt"):
        client.register_client_auth_method((ClientSecretJWT if method == "client_secret_jwt" else PrivateKeyJWT)(url))
    return client


def request_token(
    url: str, call: Callable[[], Json], error_type: type[CredentialExchangeError] = CredentialExchangeError
) -> Json:
    """The tokens that `call` gets from the endpoint; a failure is an error without the request and the answer in it.

    The failure itself is not chained: a server's answer, and a library's text about it, may hold a secret.
    """
    try:
        tokens = call()
        if tokens.get("access_token"):
            return tokens
        code, why = None, "the answer holds no access_token"
    except UrlRefusedError as error:
        code, why = None, str(error) if "?" not in str(error) else "the URL is refused"
    except FetchError as error:
        code, why = None, f"it cannot be reached ({_reason(error)})"
    except Exception as error:  # noqa: BLE001 - Authlib's own errors, and whatever a foreign answer causes in it
        sent = getattr(error, "error", None)
        code = sent if isinstance(sent, str) and _CODE.fullmatch(sent) else None
        why = f"it says {code}" if code else f"its answer cannot be used ({type(error).__name__})"
    raise error_type(f"no token from {place_of(url)}: {why}", code)


def _reason(error: FetchError) -> str:
    status = re.search(r"status \d{3}$", str(error))
    if status is not None:
        return status.group()
    return type(error.__cause__).__name__ if error.__cause__ is not None else "no answer in time, or a redirect"


def with_tokens(oauth2: OAuth2Auth, tokens: Json) -> OAuth2Auth:
    """The credential with new tokens; what was only needed to get them is dropped, a refresh token is kept."""
    lasts = tokens.get("expires_in")
    expires_at = tokens.get("expires_at")
    if lasts is not None and str(lasts).isdecimal():
        expires_at = int(seam.clock()) + int(lasts)
    return oauth2.model_copy(
        update={
            "access_token": tokens["access_token"],
            "refresh_token": tokens.get("refresh_token") or oauth2.refresh_token,
            "id_token": tokens.get("id_token") or oauth2.id_token,
            "expires_at": expires_at if isinstance(expires_at, int) else None,
            "expires_in": int(lasts) if lasts is not None and str(lasts).isdecimal() else None,
            "auth_code": None,
            "auth_response_uri": None,
            "code_verifier": None,
        }
    )


def seconds_left(oauth2: OAuth2Auth) -> float | None:
    """How many seconds the token still lasts, or None if unknown."""
    return None if oauth2.expires_at is None else oauth2.expires_at - seam.clock()
