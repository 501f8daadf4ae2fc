"""Credentials from the environment: the variable of a credential_key, and the meaning of its text."""

from __future__ import annotations

import os
import re

from pydantic import ValidationError

from newel.auth.errors import AuthConfigError
from newel.auth.settings import Settings
from newel_types import (
    APIKey,
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    AuthScheme,
    HttpAuth,
    HTTPBase,
    HttpCredentials,
    OAuth2,
    OAuth2Auth,
    OpenIdConnect,
    OpenIdConnectWithConfig,
)

PREFIX = "NEWEL_CREDENTIAL_"


def variable_of(auth_config: AuthConfig, settings: Settings) -> str:
    """The variable of a credential: the setting's, or the prefix and the key in capitals (``gh-api``: ``…GH_API``)."""
    key = auth_config.credential_key or ""
    return settings.environment.get(key) or PREFIX + re.sub(r"[^A-Z0-9]", "_", key.upper())


def from_environment(auth_config: AuthConfig, settings: Settings) -> AuthCredential | None:
    """The credential that the environment holds, or None.

    The text is an AuthCredential as JSON, or what the scheme needs: an API key, a token, ``user:password``.
    """
    name = variable_of(auth_config, settings)
    text = os.environ.get(name, "").strip()
    if not text:
        return None
    if text.startswith("{"):
        try:
            return AuthCredential.model_validate_json(text)
        except ValidationError as error:
            fields = ", ".join(".".join(map(str, one["loc"])) or "the JSON" for one in error.errors())
        raise AuthConfigError(f"the environment variable {name} does not hold an AuthCredential: wrong: {fields}")
    return _read(auth_config.auth_scheme, text, name)


def _read(scheme: AuthScheme, text: str, name: str) -> AuthCredential:
    if isinstance(scheme, APIKey):
        return AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=text)
    if isinstance(scheme, HTTPBase):
        return AuthCredential(auth_type=AuthCredentialTypes.HTTP, http=_http(scheme.scheme, text, name))
    if isinstance(scheme, (OAuth2, OpenIdConnect, OpenIdConnectWithConfig)):
        oidc = not isinstance(scheme, OAuth2)
        kind = AuthCredentialTypes.OPEN_ID_CONNECT if oidc else AuthCredentialTypes.OAUTH2
        return AuthCredential(auth_type=kind, oauth2=OAuth2Auth(access_token=text))
    raise AuthConfigError(
        f"the environment variable {name} must hold an AuthCredential as JSON: the {type(scheme).__name__} scheme "
        f"does not say what its text would mean"
    )


def _http(scheme: str, text: str, name: str) -> HttpAuth:
    if scheme.lower() != "basic":
        return HttpAuth(scheme=scheme, credentials=HttpCredentials(token=text))
    username, colon, password = text.partition(":")
    if not colon:
        raise AuthConfigError(f"the environment variable {name} must hold user:password, because the scheme is basic")
    return HttpAuth(scheme=scheme, credentials=HttpCredentials(username=username, password=password))
