"""Auth helpers: schemes and credentials made of tokens, keys, service accounts and OpenID Connect, as released."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from newel.net import FetchError, UrlRefusedError, fetch_blocking
from newel.openapi.common import ApiParameter
from newel.openapi.errors import ArgumentError
from newel.openapi.security import keys_of
from newel_kernel import ConfigurationError
from newel_types import (
    APIKey,
    APIKeyIn,
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    AuthScheme,
    HttpAuth,
    HTTPBase,
    HTTPBearer,
    HttpCredentials,
    OAuth2Auth,
    OpenIdConnectWithConfig,
    ServiceAccount,
    ServiceAccountCredential,
)

#: The prefix of the names of parameters that credentials become.
INTERNAL_AUTH_PREFIX = "_auth_prefix_vaf_"


class OpenIdConfig(BaseModel):
    """An OpenID Connect client and its endpoints."""

    model_config = ConfigDict(hide_input_in_errors=True)

    client_id: str
    auth_uri: str
    token_uri: str
    client_secret: str = Field(repr=False)
    redirect_uri: str | None = None


def token_to_scheme_credential(
    token_type: Literal["apikey", "oauth2Token"],
    location: Literal["header", "query", "cookie"] | None = None,
    name: str | None = None,
    credential_value: str | None = None,
) -> tuple[AuthScheme, AuthCredential | None]:
    """The scheme of an API key at a place, or of a bearer token, and its credential; without a value, None."""
    if token_type == "apikey":  # noqa: S105 - a kind
        if location not in ("header", "query", "cookie") or not name:
            raise ConfigurationError("an API key needs a `location` (header, query or cookie) and a `name`")
        scheme = APIKey(in_=APIKeyIn(location), name=name)
        key = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=credential_value)
        return scheme, key if credential_value else None
    if token_type == "oauth2Token":  # noqa: S105 - likewise
        http = HttpAuth(scheme="bearer", credentials=HttpCredentials(token=credential_value))
        token = AuthCredential(auth_type=AuthCredentialTypes.HTTP, http=http)
        return HTTPBearer(bearerFormat="JWT"), token if credential_value else None
    raise ConfigurationError(f"token_type is {token_type!r}; it must be 'apikey' or 'oauth2Token'")


def service_account_dict_to_scheme_credential(
    config: Mapping[str, Any], scopes: Sequence[str]
) -> tuple[AuthScheme, AuthCredential]:
    """The scheme and the credential of a Google service account, from its key file's content."""
    key = ServiceAccountCredential.model_validate(dict(config))
    return service_account_scheme_credential(ServiceAccount(service_account_credential=key, scopes=list(scopes)))


def service_account_scheme_credential(config: ServiceAccount) -> tuple[AuthScheme, AuthCredential]:
    """The scheme and the credential of a Google service account."""
    credential = AuthCredential(auth_type=AuthCredentialTypes.SERVICE_ACCOUNT, service_account=config)
    return HTTPBearer(bearerFormat="JWT"), credential


def openid_dict_to_scheme_credential(
    config_dict: Mapping[str, Any], scopes: Sequence[str], credential_dict: Mapping[str, Any]
) -> tuple[OpenIdConnectWithConfig, AuthCredential]:
    """The scheme and the client of OpenID Connect, from its configuration and the client as its provider writes it."""
    if len(credential_dict) == 1 and isinstance(inner := next(iter(credential_dict.values())), Mapping):
        credential_dict = inner  # a client as a provider's console exports it
    try:
        scheme = OpenIdConnectWithConfig.model_validate({**config_dict, "scopes": list(scopes)})
    except ValidationError as error:
        wrong = ", ".join(".".join(map(str, one["loc"])) for one in error.errors(include_input=False))
        raise ConfigurationError(f"the OpenID Connect configuration lacks or spoils: {wrong}") from None
    if missing := [name for name in ("client_id", "client_secret") if not credential_dict.get(name)]:
        raise ConfigurationError(f"the client lacks {', '.join(missing)}")
    uris = credential_dict.get("redirect_uris")
    redirect = credential_dict.get("redirect_uri") or (uris[0] if isinstance(uris, list) and uris else None)
    oauth2 = OAuth2Auth(
        client_id=credential_dict["client_id"], client_secret=credential_dict["client_secret"], redirect_uri=redirect
    )
    return scheme, AuthCredential(auth_type=AuthCredentialTypes.OPEN_ID_CONNECT, oauth2=oauth2)


def openid_url_to_scheme_credential(
    openid_url: str, scopes: Sequence[str], credential_dict: Mapping[str, Any]
) -> tuple[OpenIdConnectWithConfig, AuthCredential]:
    """The same, with the configuration from its URL, which must be public."""
    try:
        reply = fetch_blocking(openid_url)
        if reply.status != 200:
            raise FetchError(f"status {reply.status}")
        config = json.loads(reply.body)
    except (UrlRefusedError, FetchError, ValueError) as error:
        raise ConfigurationError(f"no OpenID Connect configuration from {openid_url}: {error}") from error
    if not isinstance(config, dict):
        raise ConfigurationError(f"the OpenID Connect configuration at {openid_url} must be an object")
    return openid_dict_to_scheme_credential({"openIdConnectUrl": openid_url, **config}, scopes, credential_dict)


def credential_to_param(
    auth_scheme: AuthScheme, auth_credential: AuthCredential | None
) -> tuple[Any, dict[str, Any]] | tuple[None, None]:
    """What a credential adds to a request, as ``(parameter, {name: value})``; (None, None) without one."""
    if auth_credential is None:
        return None, None
    try:
        keys = keys_of([(auth_scheme, auth_credential)])
    except ArgumentError:
        return None, None
    for location, values in (("header", keys.headers), ("query", keys.query), ("cookie", keys.cookies)):
        for name, value in values.items():
            called = INTERNAL_AUTH_PREFIX + name
            parameter = ApiParameter(
                original_name=name, param_location=location, param_schema={"type": "string"}, py_name=called
            )
            return parameter, {called: value}
    return None, None


def dict_to_auth_scheme(data: Mapping[str, Any]) -> AuthScheme:
    """The scheme that a mapping of OpenAPI describes; raises ConfigurationError."""
    if not data.get("type"):
        raise ConfigurationError("a security scheme needs a `type`: apiKey, http, oauth2 or openIdConnect")
    try:
        scheme = AuthConfig.model_validate({"auth_scheme": dict(data)}).auth_scheme
    except ValidationError as error:
        wrong = ", ".join(".".join(map(str, one["loc"][1:])) for one in error.errors(include_input=False))
        raise ConfigurationError(f"the security scheme {data.get('type')!r} lacks or spoils: {wrong}") from None
    if isinstance(scheme, (APIKey, HTTPBase)) or data["type"] in ("oauth2", "openIdConnect"):
        return scheme
    raise ConfigurationError(f"the security scheme {data['type']!r} is not one of OpenAPI 3")
