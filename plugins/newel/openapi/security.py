"""Security: which credentials an operation asks for, and how they are sent. One that asks for none gets none."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from newel.openapi.document import Document, Entry
from newel.openapi.errors import ArgumentError, DocumentError
from newel.openapi.request import Keys
from newel.openapi.servers import Origin, Server
from newel_types import (
    APIKey,
    APIKeyIn,
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    AuthScheme,
    HTTPBase,
    OAuth2,
    OpenIdConnect,
    OpenIdConnectWithConfig,
)

#: Schemes whose credential is sent as a bearer token.
_TOKENS = (OAuth2, OpenIdConnect, OpenIdConnectWithConfig)
_KNOWN = ("apiKey", "http", "oauth2", "openIdConnect")


@dataclass(frozen=True, slots=True)
class Given:
    """The credentials that come with a toolset: one for every scheme that it fits, and others by name."""

    scheme: AuthScheme | None = None
    credential: AuthCredential | None = None
    key: str | None = None
    by_name: Mapping[str, AuthCredential] = field(default_factory=dict, repr=False)


class Security:
    """The security schemes of a document. Keys that were given go to the `trusted` origins alone."""

    def __init__(self, document: Document, given: Given, trusted: frozenset[Origin]) -> None:
        self._document = document
        self._given = given
        self._trusted = trusted
        components = document.root.get("components")
        schemes = components.get("securitySchemes") if isinstance(components, dict) else None
        self._described: Mapping[str, Any] = schemes if isinstance(schemes, dict) else {}
        if unknown := given.by_name.keys() - self._described.keys():
            raise DocumentError(
                f"credentials: the document has no security scheme {', '.join(sorted(unknown))}; it has "
                f"{', '.join(self._described) or 'none'}"
            )
        self._schemes: dict[str, AuthScheme] = {}
        self._scopes: dict[str, set[str]] | None = None

    @property
    def places(self) -> frozenset[tuple[str, str]]:
        """The places of the document's credentials, as (location, name in lower case): they are never arguments."""
        described = [self._document.resolved(one, "a security scheme") for one in self._described.values()]
        places = {
            (str(one.get("in")), str(one.get("name")).lower()) for one in described if one.get("type") == "apiKey"
        }
        if isinstance(self._given.scheme, APIKey):
            places.add((self._given.scheme.in_.value, self._given.scheme.name.lower()))
        return frozenset(places)

    def alternatives(self, entry: Entry, server: Server) -> list[list[AuthConfig]]:
        """The credentials of an operation: those of one of the lists are needed; an empty list needs none."""
        asked = entry.operation.get("security", self._document.root.get("security"))
        trusted = server.target.origin in self._trusted
        own = None
        if (given := self._given).scheme is not None and trusted:
            own = self._config(given.scheme, "credential", server, given.credential, given.key)
        if asked is None:  # a document that says nothing of security: the toolset's scheme speaks for it
            return [[own]] if own is not None and not self._described else [[]]
        if not isinstance(asked, list) or not all(isinstance(one, dict) for one in asked):
            raise DocumentError(f"{entry.place}: `security` must be a list of mappings")
        if not asked or not any(asked):
            return [[]]
        if own is not None and not any(self._fits(self._scheme(name)) for name in self._usable()):
            return [[own]]  # what the document describes is not how the toolset's user signs in
        return [[self._needed(name, server, trusted) for name in one] for one in asked if self._all_usable(one)] or [
            self._refused(entry, asked)
        ]

    def _refused(self, entry: Entry, asked: Sequence[Mapping[str, object]]) -> list[AuthConfig]:
        names = ", ".join(dict.fromkeys(name for one in asked for name in one))
        raise DocumentError(f"{entry.place} asks for {names}; none of these can be used")

    def _usable(self) -> list[str]:
        return [name for name in self._described if self._all_usable([name])]

    def _all_usable(self, names: Mapping[str, object] | Sequence[str]) -> bool:
        """Whether the schemes are described, and of kinds that can be used (mutual TLS is not)."""
        return all(
            name in self._described
            and self._document.resolved(self._described[name], f"the security scheme {name}").get("type") in _KNOWN
            for name in names
        )

    def _needed(self, name: str, server: Server, trusted: bool) -> AuthConfig:
        scheme = self._scheme(name)
        if trusted and name in self._given.by_name:
            return self._config(scheme, name, server, self._given.by_name[name])
        if trusted and self._fits(scheme):
            return self._config(self._given.scheme or scheme, name, server, self._given.credential, self._given.key)
        return self._config(scheme, name, server)

    def _config(
        self,
        scheme: AuthScheme,
        name: str,
        server: Server,
        credential: AuthCredential | None = None,
        key: str | None = None,
    ) -> AuthConfig:
        # A key of its own for each server: one document cannot get what was given for another.
        return AuthConfig(
            auth_scheme=scheme, raw_auth_credential=credential, credential_key=key or f"{name}_{server.key}"
        )

    def _scheme(self, name: str) -> AuthScheme:
        if name not in self._schemes:
            described = dict(self._document.resolved(self._described[name], f"the security scheme {name}"))
            if isinstance(scheme := described.get("scheme"), str):
                described["scheme"] = scheme.lower()
            if isinstance(flows := described.get("flows"), dict):
                described["flows"] = {kind: self._flow(name, flow) for kind, flow in flows.items()}
            try:
                self._schemes[name] = AuthConfig.model_validate({"auth_scheme": described}).auth_scheme
            except ValueError as error:
                wrong = str(error).splitlines()[0]
                raise DocumentError(f"the security scheme {name!r} is not one of OpenAPI 3: {wrong}") from None
        return self._schemes[name]

    def _flow(self, name: str, flow: Any) -> Any:
        """A flow with the scopes that the document's operations ask for, if they do: the user consents to no more."""
        if not isinstance(flow, dict) or not isinstance(scopes := flow.get("scopes"), dict):
            return flow
        asked = self._asked_scopes().get(name, set())
        return {**flow, "scopes": {scope: text for scope, text in scopes.items() if scope in asked} or scopes}

    def _asked_scopes(self) -> dict[str, set[str]]:
        if self._scopes is None:
            self._scopes = {}
            shared = self._document.root.get("security")
            for asked in (shared, *(entry.operation.get("security") for entry in self._document.entries())):
                for one in asked if isinstance(asked, list) else ():
                    for name, scopes in one.items() if isinstance(one, dict) else ():
                        self._scopes.setdefault(name, set()).update(scopes if isinstance(scopes, list) else ())
        return self._scopes

    def _fits(self, scheme: AuthScheme) -> bool:
        """Whether what was given with the toolset is for a scheme."""
        given, credential = self._given.scheme, self._given.credential
        if given is None:
            return credential is not None and _takes(scheme, credential.auth_type)
        if isinstance(scheme, APIKey):
            return isinstance(given, APIKey) and (given.in_, given.name.lower()) == (scheme.in_, scheme.name.lower())
        if isinstance(scheme, HTTPBase) and scheme.scheme != "bearer":
            return isinstance(given, HTTPBase) and given.scheme.lower() == scheme.scheme
        return isinstance(given, _TOKENS) or (isinstance(given, HTTPBase) and given.scheme.lower() == "bearer")


def _takes(scheme: AuthScheme, kind: AuthCredentialTypes) -> bool:
    if isinstance(scheme, APIKey):
        return kind is AuthCredentialTypes.API_KEY
    return kind is not AuthCredentialTypes.API_KEY if isinstance(scheme, (HTTPBase, *_TOKENS)) else False


def keys_of(credentials: Sequence[tuple[AuthScheme, AuthCredential]]) -> Keys:
    """What credentials, each with its scheme, add to a request."""
    headers: dict[str, str] = {}
    places: dict[APIKeyIn, dict[str, str]] = {APIKeyIn.header: headers, APIKeyIn.query: {}, APIKeyIn.cookie: {}}
    for scheme, credential in credentials:
        if isinstance(scheme, APIKey):
            if not credential.api_key:
                raise ArgumentError("the credential holds no API key")
            places[scheme.in_][scheme.name] = credential.api_key
        else:
            headers["Authorization"] = _authorization(scheme, credential)
            headers |= (credential.http.additional_headers or {}) if credential.http is not None else {}
    return Keys(headers, places[APIKeyIn.query], places[APIKeyIn.cookie])


def _authorization(scheme: AuthScheme, credential: AuthCredential) -> str:
    http, oauth2 = credential.http, credential.oauth2
    if http is not None:
        kind, secret = http.scheme.lower(), http.credentials
        if kind == "basic" and secret.username is not None:
            pair = f"{secret.username}:{secret.password or ''}".encode()
            return f"Basic {b64encode(pair).decode()}"
        if kind == "basic" and secret.token and ":" in secret.token:  # as the user types it
            return f"Basic {b64encode(secret.token.encode()).decode()}"
        if secret.token:
            return f"{'Bearer' if kind == 'bearer' else http.scheme} {secret.token}"
    if oauth2 is not None and oauth2.access_token:
        return f"Bearer {oauth2.access_token}"
    if credential.api_key:
        return f"Bearer {credential.api_key}"
    raise ArgumentError(f"the credential for the {type(scheme).__name__} scheme holds no token")
