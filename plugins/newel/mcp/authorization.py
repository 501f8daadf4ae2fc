"""Authorization: what a server that answers 401 wants, found as RFC 9728 and RFC 8414 say."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError

from newel.auth.errors import AuthConfigError
from newel.auth.oauth2_discovery import AuthorizationServerMetadata, discover
from newel.auth.settings import settings_of
from newel.auth.token_endpoint import place_of, policy_of
from newel.net import FetchError, Policy, UrlRefusedError, fetch
from newel_kernel import ReadonlyContext
from newel_types import AuthScheme, ExtendedOAuth2, OAuth2, OAuthFlowAuthorizationCode, OAuthFlows

_METADATA = re.compile(r'resource_metadata="([^"]+)"')
_SCOPE = re.compile(r'scope="([^"]+)"')


class ResourceMetadata(BaseModel):
    """What a protected resource says about itself (RFC 9728)."""

    resource: str
    authorization_servers: list[str] = []
    scopes_supported: list[str] | None = None


@dataclass(frozen=True, slots=True)
class Discovered:
    """The scheme of an MCP server, and the authorization server that gives its tokens."""

    scheme: AuthScheme
    server: AuthorizationServerMetadata


async def discovered(url: str, challenge: str, context: ReadonlyContext) -> Discovered:
    """What the server at `url` wants, from its challenge; raises AuthConfigError if it does not say enough.

    The metadata must be of this very resource, and the authorization server's of its own issuer. Every address but the
    server's own origin passes the guard of outgoing requests.
    """
    policy = policy_of(settings_of(context))
    metadata = await _metadata(url, challenge, policy)
    if not metadata.authorization_servers:
        raise AuthConfigError(f"the MCP server {place_of(url)} names no authorization server: set an auth_scheme")
    issuer = metadata.authorization_servers[0]
    server = await discover(issuer, policy)
    named = _SCOPE.search(challenge)
    scopes = named[1].split() if named is not None else metadata.scopes_supported or []
    flow = OAuthFlowAuthorizationCode(
        authorizationUrl=server.authorization_endpoint,
        tokenUrl=server.token_endpoint,
        scopes=dict.fromkeys(scopes, ""),
    )
    scheme = {"flows": OAuthFlows(authorizationCode=flow), "issuer_url": issuer, "resource": metadata.resource}
    return Discovered(ExtendedOAuth2.model_validate(scheme), server)


def broader(scheme: AuthScheme, challenge: str) -> AuthScheme | None:
    """`scheme` with the scopes that a challenge asks for in addition; None if there are none that it has not yet."""
    flow = scheme.flows.authorizationCode if isinstance(scheme, OAuth2) else None
    named = _SCOPE.search(challenge)
    if flow is None or named is None or not isinstance(scheme, OAuth2):
        return None
    scopes = {**flow.scopes, **dict.fromkeys(named[1].split(), "")}
    if scopes.keys() == flow.scopes.keys():
        return None
    flows = scheme.flows.model_copy(update={"authorizationCode": flow.model_copy(update={"scopes": scopes})})
    return scheme.model_copy(update={"flows": flows})


async def _metadata(url: str, challenge: str, policy: Policy) -> ResourceMetadata:
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    named = _METADATA.search(challenge)
    well_known = f"{origin}/.well-known/oauth-protected-resource"
    places = [named[1]] if named is not None else [f"{well_known}{parts.path.rstrip('/')}", well_known]
    problems = []
    is_missing = named is None
    for place in dict.fromkeys(places):
        try:
            reply = await fetch(place, _for(place, parts.netloc, policy), headers={"Accept": "application/json"})
            is_missing = is_missing and reply.status == 404
            if reply.status != 200:
                raise FetchError(f"status {reply.status}")
            metadata = ResourceMetadata.model_validate(json.loads(reply.body))
        except (UrlRefusedError, FetchError, ValidationError, ValueError) as error:
            why = str(error) if isinstance(error, (UrlRefusedError, FetchError)) else type(error).__name__
            is_missing = is_missing and isinstance(error, FetchError)
            problems.append(f"{place_of(place)}: {why}")
            continue
        if _covers(metadata.resource, url):
            return metadata
        problems.append(f"{place_of(place)} is about {place_of(metadata.resource)}, another resource")
    if is_missing:  # before 2025-06-18 the server's own origin was the authorization server
        return ResourceMetadata(resource=url, authorization_servers=[origin])
    raise AuthConfigError(
        f"the MCP server {place_of(url)} wants a credential and does not say where to get it: {'; '.join(problems)}"
    )


def _for(place: str, netloc: str, policy: Policy) -> Policy:
    """`policy`; the origin of the server, which the app itself names, is allowed too."""
    if urlsplit(place).netloc != netloc:
        return policy
    return Policy(allow=(*policy.allow, netloc), max_bytes=policy.max_bytes, seconds=policy.seconds, max_redirects=0)


def _covers(resource: str, url: str) -> bool:
    """Whether `url` is the resource, or below it."""
    one, other = urlsplit(resource), urlsplit(url)
    path = one.path.rstrip("/")
    return (one.scheme, one.netloc) == (other.scheme, other.netloc) and (
        other.path.rstrip("/") == path or other.path.startswith(f"{path}/")
    )
