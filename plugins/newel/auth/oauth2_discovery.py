"""Discovery: the endpoints of an authorization server, from its issuer or its OpenID configuration."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError

from newel.auth.errors import AuthConfigError
from newel.auth.token_endpoint import place_of, require_encryption
from newel.net import FetchError, Policy, UrlRefusedError, fetch
from newel_types import AuthScheme, ExtendedOAuth2, OpenIdConnect, OpenIdConnectWithConfig


class AuthorizationServerMetadata(BaseModel):
    """The metadata that a server publishes (RFC 8414)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    scopes_supported: list[str] | None = None
    userinfo_endpoint: str | None = None
    token_endpoint_auth_methods_supported: list[str] | None = None
    #: Where an app registers itself (RFC 7591).
    registration_endpoint: str | None = None
    #: Whether a `client_id` may be the address of a document about the client.
    client_id_metadata_document_supported: bool = False


async def with_end_points(scheme: AuthScheme, policy: Policy) -> AuthScheme:
    """`scheme` with its endpoints, looked up if it has only the address that lists them."""
    if isinstance(scheme, OpenIdConnect):
        metadata = await _read(scheme.openIdConnectUrl, policy)
        return OpenIdConnectWithConfig(
            authorization_endpoint=metadata.authorization_endpoint,
            token_endpoint=metadata.token_endpoint,
            userinfo_endpoint=metadata.userinfo_endpoint,
            scopes=_scopes(scheme),
            token_endpoint_auth_methods_supported=metadata.token_endpoint_auth_methods_supported,
        )
    if isinstance(scheme, ExtendedOAuth2) and scheme.issuer_url and _lacks_end_points(scheme):
        return _filled(scheme, await discover(scheme.issuer_url, policy))
    return scheme


def _scopes(scheme: OpenIdConnect) -> list[str]:
    declared_scopes = (scheme.model_extra or {}).get("scopes")
    return list(declared_scopes) if isinstance(declared_scopes, (list, dict)) else ["openid"]


async def discover(issuer: str, policy: Policy) -> AuthorizationServerMetadata:
    """The metadata of an issuer, from the places where RFC 8414 and OpenID Connect put them."""
    parts = urlsplit(issuer)
    base, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    places = dict.fromkeys(
        [
            f"{base}/.well-known/oauth-authorization-server{path}",
            f"{base}/.well-known/openid-configuration{path}",
            f"{base}{path}/.well-known/openid-configuration",
        ]
    )
    problems = []
    for url in places:
        try:
            metadata = await _read(url, policy)
        except AuthConfigError as error:
            problems.append(str(error))
            continue
        if metadata.issuer.rstrip("/") == issuer.rstrip("/"):
            return metadata
        problems.append(
            f"{place_of(url)} is the metadata of a different issuer"
        )  # or tokens would go to a foreign server
    raise AuthConfigError(f"the issuer {place_of(issuer)} does not publish its endpoints: {'; '.join(problems)}")


async def _read(url: str, policy: Policy) -> AuthorizationServerMetadata:
    try:
        require_encryption(url, policy)
        reply = await fetch(url, policy, headers={"Accept": "application/json"})
        if reply.status != 200:
            raise FetchError(f"status {reply.status}")
        return AuthorizationServerMetadata.model_validate(json.loads(reply.body))
    except (UrlRefusedError, FetchError, ValidationError, ValueError) as error:
        why = str(error) if isinstance(error, (UrlRefusedError, FetchError)) else type(error).__name__
        raise AuthConfigError(f"{place_of(url)} returns no endpoints ({why})") from None


def _lacks_end_points(scheme: ExtendedOAuth2) -> bool:
    return any(not value for _, _, value in _end_points(scheme))


def _end_points(scheme: ExtendedOAuth2) -> list[tuple[BaseModel, str, str]]:
    """(flow, field, value) of every endpoint of the declared flows."""
    flows = [flow for _, flow in scheme.flows if isinstance(flow, BaseModel)]
    return [(f, name, getattr(f, name)) for f in flows for name in ("authorizationUrl", "tokenUrl") if hasattr(f, name)]


def _filled(scheme: ExtendedOAuth2, metadata: AuthorizationServerMetadata) -> ExtendedOAuth2:
    filled = scheme.model_copy(deep=True)
    for flow, name, value in _end_points(filled):
        if not value:
            address = metadata.authorization_endpoint if name == "authorizationUrl" else metadata.token_endpoint
            setattr(flow, name, address)
    return filled
