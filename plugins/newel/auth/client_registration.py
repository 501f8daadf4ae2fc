"""Client registration: an app that has no client at an authorization server yet gets one there (RFC 7591)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import BaseModel, ValidationError

from newel.auth.errors import AuthConfigError
from newel.auth.oauth2_discovery import AuthorizationServerMetadata
from newel.auth.token_endpoint import place_of, require_encryption
from newel.net import FetchError, Policy, UrlRefusedError, fetch
from newel_kernel import Json
from newel_types import OAuth2Auth

#: How the app says who it is, in the order of preference: PKCE protects one that has no secret.
_METHODS = ("none", "client_secret_basic", "client_secret_post")
_WITH_SECRET = _METHODS[1:]


class _Registered(BaseModel):
    """What the server says about the new client."""

    client_id: str
    client_secret: str | None = None
    client_secret_expires_at: int = 0
    token_endpoint_auth_method: str | None = None


def is_document(client_id: str | None) -> bool:
    """Whether a client's id is the address of a document about it, which needs no registration."""
    return client_id is not None and client_id.startswith("https://")


def method_of(server: AuthorizationServerMetadata, *, has_secret: bool) -> str:
    """How the app says who it is at a server's token endpoint; without a list it takes the basic way (RFC 8414)."""
    offered: Sequence[str] = server.token_endpoint_auth_methods_supported or ("client_secret_basic",)
    known = [method for method in _METHODS if method in offered and not (has_secret and method == "none")]
    return known[0] if known else "client_secret_basic"


async def client_at(server: AuthorizationServerMetadata, oauth2: OAuth2Auth, policy: Policy) -> OAuth2Auth:
    """`oauth2` with a client that the server knows: its own, or one that it registers now; else an AuthConfigError."""
    if oauth2.client_id and (not is_document(oauth2.client_id) or server.client_id_metadata_document_supported):
        if "token_endpoint_auth_method" in oauth2.model_fields_set:
            return oauth2
        method = method_of(server, has_secret=oauth2.client_secret is not None)
        return oauth2.model_copy(update={"token_endpoint_auth_method": method if method in _WITH_SECRET else None})
    issuer = place_of(server.issuer)
    if server.registration_endpoint is None:
        problem = "takes no addresses of documents as client_id" if oauth2.client_id else "registers no clients"
        raise AuthConfigError(
            f"the authorization server {issuer} {problem}: register your app there, and give its client_id in "
            f"auth_credential (OAuth2Auth(client_id=..., redirect_uri=...))"
        )
    if not oauth2.redirect_uri:
        raise AuthConfigError(
            f"the authorization server {issuer} can register this app, which needs to know where users are sent back "
            f"to: give auth_credential with OAuth2Auth(redirect_uri=...), or with a client_id"
        )
    return await _registered(server.registration_endpoint, server, oauth2, policy)


async def _registered(url: str, server: AuthorizationServerMetadata, oauth2: OAuth2Auth, policy: Policy) -> OAuth2Auth:
    about: Json = {
        "client_name": "newel",
        "redirect_uris": [oauth2.redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method_of(server, has_secret=False),
    }
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    try:
        require_encryption(url, policy)
        reply = await fetch(url, policy, method="POST", headers=headers, body=json.dumps(about).encode())
        if reply.status not in (200, 201):
            raise FetchError(f"status {reply.status}")
        client = _Registered.model_validate(json.loads(reply.body))
    except (UrlRefusedError, FetchError, ValidationError, ValueError) as error:
        why = str(error) if isinstance(error, (UrlRefusedError, FetchError)) else type(error).__name__
        raise AuthConfigError(
            f"the authorization server {place_of(server.issuer)} does not register this app ({why}): register it "
            f"there, and give its client_id in auth_credential"
        ) from None
    method = client.token_endpoint_auth_method or about["token_endpoint_auth_method"]
    return oauth2.model_copy(
        update={
            "client_id": client.client_id,
            "client_secret": client.client_secret,
            "token_endpoint_auth_method": method if method in _WITH_SECRET else None,
            "expires_at": client.client_secret_expires_at or None,
        }
    )
