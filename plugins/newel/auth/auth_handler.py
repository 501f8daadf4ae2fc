"""AuthHandler: the request for a credential that goes to the user, and the answer."""

from __future__ import annotations

from secrets import token_urlsafe
from urllib.parse import parse_qs, urlsplit

from newel.auth.errors import AuthConfigError
from newel.auth.token_endpoint import DEFAULT_POLICY, client_of, resource_of
from newel_kernel import Json
from newel_types import (
    AuthConfig,
    AuthCredential,
    AuthScheme,
    OAuth2,
    OAuth2Auth,
    OAuthFlows,
    OpenIdConnectWithConfig,
    SecurityBase,
    SecuritySchemeType,
)

#: As base64 these are 64 characters; RFC 7636 allows 43 to 128.
_VERIFIER_BYTES = 48
_CONSENTED = (SecuritySchemeType.oauth2, SecuritySchemeType.openIdConnect)


def asks_for_consent(scheme: AuthScheme) -> bool:
    """Whether a scheme's credential comes from the user's consent at a URL."""
    return isinstance(scheme, SecurityBase) and scheme.type_ in _CONSENTED


class AuthHandler:
    """Makes the request of one AuthConfig, and checks the answer to it. The requests hold secrets: seal them."""

    def __init__(self, auth_config: AuthConfig) -> None:
        self.auth_config = auth_config

    def check(self) -> None:
        """Raise AuthConfigError if the config lacks something that a request needs."""
        config, raw = self.auth_config, self.auth_config.raw_auth_credential
        if not asks_for_consent(config.auth_scheme) or _has_uri(config.exchanged_auth_credential):
            return
        if raw is None or raw.oauth2 is None or not (raw.oauth2.client_id or raw.oauth2.auth_uri):
            raise AuthConfigError(
                f"the {type(config.auth_scheme).__name__} scheme of the credential {config.credential_key!r} needs an "
                f"OAuth2 client: give AuthConfig(raw_auth_credential=AuthCredential(auth_type='oauth2', "
                f"oauth2=OAuth2Auth(client_id=...)))"
            )
        if raw.oauth2.code_challenge_method not in (None, "S256"):
            raise AuthConfigError(
                f"unsupported code_challenge_method {raw.oauth2.code_challenge_method!r}: only 'S256' is supported"
            )

    def generate_auth_request(self) -> AuthConfig:
        """The request to the user: the config unchanged, or with the consent URL in its exchanged credential."""
        self.check()
        config, raw = self.auth_config, self.auth_config.raw_auth_credential
        if not asks_for_consent(config.auth_scheme) or _has_uri(config.exchanged_auth_credential):
            return config.model_copy(deep=True)
        has_uri = raw is not None and _has_uri(raw)
        exchanged = raw.model_copy(deep=True) if raw is not None and has_uri else self.generate_auth_uri()
        return config.model_copy(deep=True, update={"exchanged_auth_credential": exchanged})

    def generate_auth_uri(self) -> AuthCredential:
        """The raw credential with the URL at which the user consents, its state and PKCE verifier, a nonce for OIDC."""
        config = self.auth_config
        raw = config.raw_auth_credential
        if raw is None or raw.oauth2 is None or not raw.oauth2.client_id:
            raise AuthConfigError(f"the credential {config.credential_key!r} needs a client_id in its oauth2")
        url, scopes = _consent(config.auth_scheme)
        oauth2 = raw.oauth2.model_copy(
            update={
                "code_verifier": raw.oauth2.code_verifier or token_urlsafe(_VERIFIER_BYTES),
                "code_challenge_method": "S256",
                "nonce": raw.oauth2.nonce or (token_urlsafe(24) if "openid" in scopes else None),
            }
        )
        client = client_of(oauth2, DEFAULT_POLICY, scope=" ".join(scopes) or None, code_challenge_method="S256")
        oauth2.auth_uri, oauth2.state = client.create_authorization_url(
            url,
            state=oauth2.state,
            code_verifier=oauth2.code_verifier,
            **_parameters(oauth2),
            **resource_of(config.auth_scheme),
        )
        return raw.model_copy(update={"oauth2": oauth2})

    def accept(self, answer: AuthCredential, issued: AuthCredential | None) -> AuthCredential | None:
        """The credential of an answer, with the client that the request was `issued` for; None if it has no credential.

        The app alone decides the client, and where its secrets go: an answer cannot change them. Raises
        AuthConfigError if a code comes without the state of the request.
        """
        if answer.oauth2 is None or not asks_for_consent(self.auth_config.auth_scheme):
            return answer if any(answer.secrets()) else None
        answer_oauth2, own = answer.oauth2, (issued.oauth2 if issued is not None else None) or OAuth2Auth()
        if answer_oauth2.access_token:
            return _pinned(answer, own)
        code, state = _code_of(answer_oauth2)
        if code is None:
            return None
        if own.state is not None and state != own.state:
            raise AuthConfigError(
                f"the answer for the credential {self.auth_config.credential_key!r} does not carry the state of the "
                f"request: it belongs to another request, or is forged; ask again"
            )
        _check_issuer(answer_oauth2, self.auth_config)
        pinned = _pinned(answer, own)
        assert pinned.oauth2 is not None
        pinned.oauth2.auth_code = code
        return pinned


def _has_uri(credential: AuthCredential | None) -> bool:
    return credential is not None and credential.oauth2 is not None and bool(credential.oauth2.auth_uri)


def _pinned(answer: AuthCredential, own: OAuth2Auth) -> AuthCredential:
    names = ("client_id", "client_secret", "redirect_uri", "code_verifier", "nonce", "token_endpoint_auth_method")
    update = {name: value for name in names if (value := getattr(own, name)) is not None}
    assert answer.oauth2 is not None
    return answer.model_copy(update={"oauth2": answer.oauth2.model_copy(update=update)})


def _code_of(answer_oauth2: OAuth2Auth) -> tuple[str | None, str | None]:
    """The authorization code and the state that came with it, in the URL the user was sent back to or alone."""
    if answer_oauth2.auth_response_uri:
        query = parse_qs(urlsplit(answer_oauth2.auth_response_uri.rstrip("#")).query)
        return query.get("code", [None])[0], query.get("state", [None])[0]
    return answer_oauth2.auth_code, answer_oauth2.state


def _check_issuer(answer: OAuth2Auth, config: AuthConfig) -> None:
    """Raise if the answer says that it comes from another server than the one that was asked (RFC 9207)."""
    expected = getattr(config.auth_scheme, "issuer_url", None)
    if not expected or not answer.auth_response_uri:
        return
    said = parse_qs(urlsplit(answer.auth_response_uri.rstrip("#")).query).get("iss", [None])[0]
    if said is not None and said.rstrip("/") != expected.rstrip("/"):
        raise AuthConfigError(
            f"the answer for the credential {config.credential_key!r} comes from another authorization server than the "
            f"one that was asked, or is forged; ask again"
        )


def _consent(scheme: AuthScheme) -> tuple[str, list[str]]:
    """The URL at which the user consents, and the scopes."""
    if isinstance(scheme, OpenIdConnectWithConfig):
        return scheme.authorization_endpoint, list(scheme.scopes or ["openid"])
    flows = scheme.flows if isinstance(scheme, OAuth2) else getattr(scheme, "flows", None)
    if isinstance(flows, OAuthFlows):
        for flow in (flows.authorizationCode, flows.implicit):
            if flow is not None and flow.authorizationUrl:
                return flow.authorizationUrl, list(flow.scopes)
    raise AuthConfigError(f"the {type(scheme).__name__} scheme names no URL at which the user could consent")


def _parameters(oauth2: OAuth2Auth) -> Json:
    parameters = {
        "access_type": "offline",
        "prompt": oauth2.prompt or "consent",
        "audience": oauth2.audience,
        "nonce": oauth2.nonce,
    }
    return {name: value for name, value in parameters.items() if value}
