"""Credential answers: the credential that a request needs, typed unseen and kept in no history."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

from newel.auth.answers import arguments_of
from newel.auth.auth_handler import asks_for_consent
from newel.auth.environment import variable_of
from newel.auth.settings import settings_of
from newel.cli.conversation import Conversation
from newel.cli.terminal import say
from newel.questions.question import Question
from newel_kernel import Json
from newel_types import (
    APIKey,
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    HttpAuth,
    HTTPBase,
    HttpCredentials,
    OAuth2Auth,
)


class Read(Protocol):
    """Reads one line, hidden if it is a secret; empty if the user gives none."""

    def __call__(self, label: str, *, hidden: bool = False) -> Awaitable[str]: ...


def variable(question: Question, conversation: Conversation) -> str:
    """The environment variable from which the credential would be taken."""
    return variable_of(_config(question), settings_of(conversation.runner))


def description_of(question: Question) -> list[str]:
    """The credential that is needed, and where the user consents."""
    config = _config(question)
    uri = _consent(config).auth_uri
    consent = [f"consent at: {uri}"] if uri and asks_for_consent(config.auth_scheme) else []
    return [f"the credential {config.credential_key!r} is needed: {_kind(config)}", *consent]


async def ask(question: Question, read: Read) -> Json | None:
    """The response with the credential that the user types, or None."""
    config = _config(question)
    scheme = config.auth_scheme
    if asks_for_consent(scheme) and _consent(config).auth_uri:
        return await _redirected(config, read)
    if isinstance(scheme, HTTPBase) and scheme.scheme.lower() == "basic":
        return await _basic(scheme, read)
    if not (isinstance(scheme, (APIKey, HTTPBase)) or asks_for_consent(scheme)):
        say("  it cannot be typed in here; see docs/guides/credentials.md for where else it may come from")
        return None
    secret = (await read(f"  {_kind(config)}> ", hidden=True)).strip()
    return {"result": secret} if secret else None


async def _basic(scheme: HTTPBase, read: Read) -> Json | None:
    if not (user := (await read("  user> ")).strip()):
        return None
    if not (password := await read("  password> ", hidden=True)):
        return None
    http = HttpAuth(scheme=scheme.scheme, credentials=HttpCredentials(username=user, password=password))
    return _response(AuthCredential(auth_type=AuthCredentialTypes.HTTP, http=http))


async def _redirected(config: AuthConfig, read: Read) -> Json | None:
    """The URL that the service sent the user back to; checked here, for a request has one answer."""
    state = _consent(config).state
    while url := (await read("  the URL you were sent back to> ", hidden=True)).strip():
        query = parse_qs(urlsplit(url).query)
        if "error" in query:
            say(f"  the service refused: {query['error'][0]}", fg="red")
        elif "code" not in query:
            say("  that URL has no code in it; copy the whole address that the browser shows at the end", fg="red")
        elif state is not None and query.get("state") != [state]:
            say("  that URL answers another request (its state differs); consent at the URL above", fg="red")
        else:
            oidc = config.auth_scheme.type_ != "oauth2"
            kind = AuthCredentialTypes.OPEN_ID_CONNECT if oidc else AuthCredentialTypes.OAUTH2
            return _response(AuthCredential(auth_type=kind, oauth2=OAuth2Auth(auth_response_uri=url)))
    return None


def _response(credential: AuthCredential) -> Json:
    return credential.model_dump(mode="json", by_alias=True, exclude_none=True)


def _config(question: Question) -> AuthConfig:
    return arguments_of(question).auth_config


def _consent(config: AuthConfig) -> OAuth2Auth:
    """The consent that the request was made for."""
    credential = config.exchanged_auth_credential or config.raw_auth_credential
    return (credential.oauth2 if credential is not None else None) or OAuth2Auth()


def _kind(config: AuthConfig) -> str:
    scheme = config.auth_scheme
    if isinstance(scheme, APIKey):
        return "API key"
    if isinstance(scheme, HTTPBase):
        return "user and password" if scheme.scheme.lower() == "basic" else f"{scheme.scheme} token"
    if asks_for_consent(scheme):
        return "your consent" if _consent(config).auth_uri else "access token"
    return type(scheme).__name__
