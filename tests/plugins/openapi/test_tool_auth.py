"""The credentials of tools of one's own, under the released names."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from tests.plugins.openapi.test_security import Chat, asked, results

from newel.openapi import exchangers
from newel.tools.openapi_tool.auth.auth_helpers import token_to_scheme_credential
from newel.tools.openapi_tool.auth.credential_exchangers import (
    AutoAuthCredentialExchanger,
    BaseAuthCredentialExchanger,
    OAuth2CredentialExchanger,
    ServiceAccountCredentialExchanger,
)
from newel.tools.openapi_tool.auth.credential_exchangers.base_credential_exchanger import AuthCredentialMissingError
from newel.tools.openapi_tool.openapi_spec_parser import ToolAuthHandler
from newel_kernel import ToolContext
from newel_types import APIKey, APIKeyIn, AuthCredential, AuthScheme, HTTPBearer, OAuth2, OAuth2Auth, OAuthFlows

LOGIN = OAuth2(flows=OAuthFlows())
SCHEME = APIKey(in_=APIKeyIn.header, name="X-Key")


def tokens(**fields: Any) -> AuthCredential:
    return AuthCredential(auth_type="oauth2", oauth2=OAuth2Auth(client_id="c", client_secret="s", **fields))


def token_of(credential: AuthCredential | None) -> str | None:
    assert credential is not None
    assert credential.http is not None
    return credential.http.credentials.token


def test_a_token_becomes_a_bearer_token() -> None:
    for exchanger in (OAuth2CredentialExchanger(), AutoAuthCredentialExchanger()):
        exchanged = exchanger.exchange_credential(LOGIN, tokens(access_token="TOKEN"))
        assert token_of(exchanged) == "TOKEN"
        assert exchanger.exchange_credential(LOGIN, exchanged) == exchanged
        assert exchanger.exchange_credential(LOGIN, tokens()) is None


def test_what_is_no_credential_of_the_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="need an AuthCredential"):
        OAuth2CredentialExchanger().exchange_credential(LOGIN)
    with pytest.raises(ValueError, match="must be oauth2 or openIdConnect, not HTTPBearer"):
        OAuth2CredentialExchanger().exchange_credential(HTTPBearer(), tokens(access_token="TOKEN"))
    with pytest.raises(AuthCredentialMissingError, match="there is no service account"):
        ServiceAccountCredentialExchanger().exchange_credential(HTTPBearer(), tokens())


def test_an_expired_token_is_renewed_also_within_a_running_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refresher:
        async def is_refresh_needed(self, credential: AuthCredential, scheme: AuthScheme) -> bool:
            return credential.oauth2 is not None and (credential.oauth2.expires_at or 0) < time.time()

        async def refresh(self, credential: AuthCredential, scheme: AuthScheme) -> AuthCredential:
            return tokens(access_token="NEW")

    expired = tokens(access_token="OLD", refresh_token="R", expires_at=1)
    exchanger = OAuth2CredentialExchanger()
    assert token_of(exchanger.exchange_credential(LOGIN, expired)) == "OLD"  # there is no server that renews it
    monkeypatch.setattr(exchangers, "OAuth2CredentialRefresher", Refresher)

    async def within() -> AuthCredential | None:
        return exchanger.exchange_credential(LOGIN, expired)

    assert token_of(asyncio.run(within())) == "NEW"
    valid = tokens(access_token="VALID", refresh_token="R", expires_at=int(time.time()) + 1000)
    assert token_of(exchanger.exchange_credential(LOGIN, valid)) == "VALID"


def test_exchangers_of_ones_own_are_asked() -> None:
    class Mine(BaseAuthCredentialExchanger):
        def exchange_credential(
            self, auth_scheme: AuthScheme, auth_credential: AuthCredential | None = None
        ) -> AuthCredential:
            return AuthCredential(auth_type="apiKey", api_key="mine")

    _, given = token_to_scheme_credential("apikey", "header", "X-Key", "given")
    assert AutoAuthCredentialExchanger().exchange_credential(SCHEME, given) == given
    assert AutoAuthCredentialExchanger().exchange_credential(SCHEME) is None
    assert given is not None
    exchanged = AutoAuthCredentialExchanger({given.auth_type: Mine}).exchange_credential(SCHEME, given)
    assert exchanged is not None
    assert exchanged.api_key == "mine"


class Api:
    """A tool of one's own that calls an API with a key, which it refuses as long as it is not `good`."""

    def __init__(self, good: str, credential: AuthCredential | None = None) -> None:
        self.good, self.credential = good, credential
        self.seen: list[Any] = []

    async def op(self, tool_context: ToolContext) -> Any:
        """Call the API."""
        handler = ToolAuthHandler.from_tool_context(tool_context, SCHEME, self.credential, credential_key="api")
        prepared = await handler.prepare_auth_credentials()
        if prepared.state == "pending":
            return {"pending": True}
        assert prepared.auth_credential is not None
        self.seen.append(prepared.auth_credential.api_key)
        if self.seen[-1] == self.good:
            return {"ok": True}
        return {"recovery": await handler.handle_unauthorized_error()}


def test_a_tool_of_ones_own_asks_for_its_key_and_again_if_it_is_refused() -> None:
    api = Api("GOOD-KEY-1")
    chat = Chat([api.op])
    (first,) = asked(chat.say())
    events = chat.answer(first, {"result": "WRONG-KEY-1"})
    assert results(events)[-1] == {"recovery": "reauth_requested"}
    (second,) = asked(events)
    assert results(chat.answer(second, {"result": "GOOD-KEY-1"}))[-1] == {"ok": True}
    assert api.seen == ["WRONG-KEY-1", "GOOD-KEY-1"]
    assert "GOOD-KEY-1" not in chat.stored


def test_a_key_that_was_given_is_not_asked_for() -> None:
    api = Api("GOOD-KEY-1", AuthCredential(auth_type="apiKey", api_key="WRONG-KEY-1"))
    events = Chat([api.op]).say()
    assert not asked(events)
    assert results(events) == [{"recovery": "failed"}]


def test_a_tool_without_a_scheme_needs_none() -> None:
    async def op(tool_context: ToolContext) -> str:
        """Call the API."""
        handler = ToolAuthHandler(tool_context, None, None)
        return f"{(await handler.prepare_auth_credentials()).state} {await handler.handle_unauthorized_error()}"

    assert results(Chat([op]).say()) == [{"result": "done failed"}]
