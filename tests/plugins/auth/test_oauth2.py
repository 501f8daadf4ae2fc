"""OAuth2 and OpenID Connect against a server that checks what real ones check."""

from __future__ import annotations

import asyncio
import base64
import logging
import sys
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from newel.auth import (
    AuthConfig,
    AuthCredential,
    AuthHandler,
    CredentialManager,
    OAuth2Auth,
    OpenIdConnectWithConfig,
    ServiceAccount,
    ServiceAccountCredential,
)
from newel.auth.auth_schemes import (
    ExtendedOAuth2,
    HTTPBearer,
    OAuth2,
    OAuthFlowAuthorizationCode,
    OAuthFlows,
    OpenIdConnect,
)
from newel.auth.credential_service import EncryptedFileCredentialService, InMemoryCredentialService
from newel.auth.errors import AuthConfigError, CredentialExchangeError, CredentialRefresherError
from newel.auth.exchanger.oauth2_credential_exchanger import OAuth2CredentialExchanger
from newel.auth.refresher.oauth2_credential_refresher import OAuth2CredentialRefresher
from newel.net import Policy
from newel.tools import AuthenticatedFunctionTool, ToolContext
from newel_kernel import FeatureUnavailableError, seam

HERE = Policy(allow=("127.0.0.1",), max_redirects=0)


def tool_for(config: AuthConfig, seen: list[Any]) -> AuthenticatedFunctionTool:
    def act(credential: AuthCredential) -> dict[str, Any]:
        """Act."""
        seen.append(credential.oauth2.model_copy() if credential.oauth2 else None)
        return {"ok": True}

    return AuthenticatedFunctionTool(act, auth_config=config)


def test_the_code_flow_from_the_question_to_the_token(converse: Any, kit: Any, server: Any, house: Any) -> None:
    seen: list[Any] = []
    talk = converse(house(), [tool_for(kit.oauth_config(server), seen)])
    call = kit.asked(talk.say())[0]
    asked = call.args["authConfig"]["exchangedAuthCredential"]["oauth2"]
    query = parse_qs(urlsplit(asked["authUri"]).query)
    assert (query["code_challenge_method"], query["state"], query["scope"]) == (["S256"], [asked["state"]], ["read"])
    assert len(query["code_challenge"][0]) >= 43
    assert not {"clientSecret", "codeVerifier"} & set(asked)

    assert kit.results(talk.answer(call, kit.consented(server, call))) == [{"ok": True}]
    assert seen[0].access_token.startswith("access-")
    assert 3500 < seen[0].expires_at - seam.clock() <= 3600
    assert [r["grant_type"] for r in server.requests] == ["authorization_code"]
    # The next invocation finds it in the credential store.
    assert kit.results(talk.say()) == [{"ok": True}]
    assert len(server.requests) == 1


def test_a_function_that_asks_by_itself_gets_the_token_too(converse: Any, kit: Any, server: Any, house: Any) -> None:
    config, seen = kit.oauth_config(server), []

    def act(tool_context: ToolContext) -> dict[str, Any]:
        """Act."""
        credential = tool_context.get_auth_response(config)
        if credential is None:
            tool_context.request_credential(config)
            return {"ok": False}
        seen.append(credential.oauth2.access_token)  # type: ignore[union-attr]
        return {"ok": True}

    talk = converse(house(), [act])
    call = kit.asked(talk.say())[0]
    assert kit.results(talk.answer(call, kit.consented(server, call))) == [{"ok": True}]
    assert seen[0] in server.issued


def test_another_process_can_take_the_answer_up(converse: Any, kit: Any, server: Any, house: Any) -> None:
    from newel.auth import pending

    seen: list[Any] = []
    store = InMemoryCredentialService()
    talk = converse(house(), [tool_for(kit.oauth_config(server), seen)], credential_service=store)
    call = kit.asked(talk.say())[0]
    pending._credentials.clear()  # what the other process does not have
    other = converse(house(), [tool_for(kit.oauth_config(server), seen)], talk.sessions, credential_service=store)
    assert kit.results(other.answer(call, kit.consented(server, call))) == [{"ok": True}]
    assert [key for _, _, key in store._credentials] == ["calendar"]  # nothing pending is left


def test_a_request_that_is_never_answered_is_forgotten_after_a_day(
    converse: Any, kit: Any, server: Any, house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from newel.auth import pending

    store = InMemoryCredentialService()
    talk = converse(house(), [tool_for(kit.oauth_config(server), [])], credential_service=store)
    call = kit.asked(talk.say())[0]
    assert len(store._credentials) == 1
    now = seam.clock()
    monkeypatch.setattr(seam, "clock", lambda: now + pending.PATIENCE + 1)
    assert len(kit.asked(talk.say())) == 1
    assert len(store._credentials) == 1  # the new one
    assert len(kit.asked(talk.answer(call, kit.consented(server, call)))) == 1


def test_an_answer_whose_request_nobody_remembers_asks_again(converse: Any, kit: Any, server: Any, house: Any) -> None:
    from newel.auth import pending

    talk = converse(house("adk", recorded=False), [tool_for(kit.oauth_config(server), [])])
    call = kit.asked(talk.say())[0]
    pending._credentials.clear()
    events = talk.answer(call, kit.consented(server, call))
    assert len(kit.asked(events)) == 1


def test_an_answer_with_another_state_is_refused(converse: Any, kit: Any, server: Any, house: Any, caplog: Any) -> None:
    talk = converse(house(), [tool_for(kit.oauth_config(server), [])])
    call = kit.asked(talk.say())[0]
    answer = kit.consented(server, call)
    oauth2 = answer["exchangedAuthCredential"]["oauth2"]
    oauth2["authResponseUri"] = oauth2["authResponseUri"].replace(oauth2["state"], "forged")
    events = talk.answer(call, answer)
    assert (server.requests, len(kit.asked(events))) == ([], 1)
    assert "does not carry the state of the request" in caplog.text


def test_an_answer_cannot_say_where_the_client_s_secret_goes(converse: Any, kit: Any, server: Any, house: Any) -> None:
    seen: list[Any] = []
    talk = converse(house(), [tool_for(kit.oauth_config(server), seen)])
    call = kit.asked(talk.say())[0]
    answer = kit.consented(server, call)
    answer["authScheme"]["flows"]["authorizationCode"]["tokenUrl"] = "http://127.0.0.1:9/steal"
    answer["exchangedAuthCredential"]["oauth2"]["clientId"] = "thief"
    assert kit.results(talk.answer(call, answer)) == [{"ok": True}]
    assert seen[0].client_id == "client"


def test_a_refused_code_is_asked_for_again(converse: Any, kit: Any, server: Any, house: Any, caplog: Any) -> None:
    talk = converse(house(), [tool_for(kit.oauth_config(server), [])])
    call = kit.asked(talk.say())[0]
    answer = kit.consented(server, call)
    server._codes.clear()  # it has expired
    assert len(kit.asked(talk.answer(call, answer))) == 1
    assert "it says invalid_grant" in caplog.text


def test_a_client_that_the_server_does_not_know_is_an_error_and_no_question(
    converse: Any, kit: Any, server: Any, house: Any
) -> None:
    talk = converse(house(), [tool_for(kit.oauth_config(server), [])])
    call = kit.asked(talk.say())[0]
    server.client_secret = "changed"
    events = talk.answer(call, kit.consented(server, call))
    assert kit.asked(events) == []
    assert kit.results(events)[0]["error"].endswith(f"no token from {server.url}/token: it says invalid_client")


def test_an_expired_token_is_renewed_with_its_rotating_refresh_token(
    converse: Any, kit: Any, server: Any, house: Any
) -> None:
    seen: list[Any] = []
    server.lasts = 30  # less than the leeway: expired at once
    talk = converse(house(), [tool_for(kit.oauth_config(server), seen)])
    call = kit.asked(talk.say())[0]
    talk.answer(call, kit.consented(server, call))
    talk.say()
    talk.say()
    tokens = [one.access_token for one in seen]
    assert len(set(tokens)) == len(tokens) == 3
    assert [r["grant_type"] for r in server.requests][1:] == ["refresh_token"] * (len(server.requests) - 1)


def test_calls_side_by_side_renew_a_token_once(kit: Any, server: Any, house: Any, converse: Any) -> None:
    server.lasts = 30
    config, seen = kit.oauth_config(server), []
    talk = converse(house(), [tool_for(config, seen)])
    call = kit.asked(talk.say())[0]
    talk.answer(call, kit.consented(server, call))
    server.lasts, before = 3600, len(server.requests)

    async def both() -> None:
        contexts = [context_of(talk) for _ in range(5)]
        manager = CredentialManager(config)
        found = await asyncio.gather(*(manager.get_auth_credential(c) for c in contexts))
        assert len({one.oauth2.access_token for one in found if one and one.oauth2}) == 1

    asyncio.run(both())
    assert len(server.requests) == before + 1


def context_of(talk: Any) -> ToolContext:
    from newel.agents import Context, InvocationContext, RunConfig

    ctx = InvocationContext(
        talk.sessions,
        talk_session(talk),
        talk.agent,
        talk.runner.composition,
        RunConfig(),
        credential_service=talk.runner.credential_service,
    )
    return Context(ctx, function_call_id="c1")


def talk_session(talk: Any) -> Any:
    from newel_kernel import Session

    return Session(id="s", app_name="app", user_id="ann")


def test_a_dead_refresh_token_asks_the_user_again(
    converse: Any, kit: Any, server: Any, house: Any, caplog: Any
) -> None:
    server.lasts = 30
    talk = converse(house(), [tool_for(kit.oauth_config(server), [])])
    call = kit.asked(talk.say())[0]
    talk.answer(call, kit.consented(server, call))
    server._refresh.clear()
    assert len(kit.asked(talk.say())) == 1
    assert "discarded the credential 'calendar': no token from" in caplog.text


def test_a_server_that_is_down_is_an_error_and_no_question(converse: Any, kit: Any, server: Any, house: Any) -> None:
    server.lasts = -100
    talk = converse(house(), [tool_for(kit.oauth_config(server), [])])
    call = kit.asked(talk.say())[0]
    talk.answer(call, kit.consented(server, call))
    server.failure = (503, b"down for secret-maintenance")
    events = talk.say()
    assert kit.asked(events) == []
    error = kit.results(events)[0]["error"]
    assert error.endswith(f"no token from {server.url}/token: it cannot be reached (status 503)")


def test_the_app_gets_its_own_tokens_without_the_user(converse: Any, kit: Any, server: Any, house: Any) -> None:
    seen: list[Any] = []
    talk = converse(house(), [tool_for(kit.app_config(server), seen)])
    events = talk.say()
    assert (kit.asked(events), kit.results(events)) == ([], [{"ok": True}])
    talk.say()
    assert [r["grant_type"] for r in server.requests] == ["client_credentials"]
    server.lasts = 3600
    assert seen[0].access_token == seen[1].access_token


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post", None])
def test_the_client_says_who_it_is_as_the_server_wants(server: Any, kit: Any, method: str | None) -> None:
    config = kit.app_config(server)
    oauth2 = config.raw_auth_credential.oauth2
    if method is None:
        server.client_secret = oauth2.client_secret = None
    else:
        oauth2.token_endpoint_auth_method = method
    result = asyncio.run(OAuth2CredentialExchanger(HERE).exchange(config.raw_auth_credential, config.auth_scheme))
    assert result.was_exchanged
    assert result.credential.oauth2.access_token in server.issued
    assert oauth2.access_token is None  # what was given is not changed
    assert ("client_secret" in server.requests[0]) == (method == "client_secret_post")


def oidc(server: Any) -> AuthConfig:
    return AuthConfig(
        auth_scheme=OpenIdConnectWithConfig(
            authorization_endpoint=f"{server.url}/auth", token_endpoint=f"{server.url}/token", scopes=["openid", "mail"]
        ),
        raw_auth_credential=AuthCredential(
            auth_type="openIdConnect",
            oauth2=OAuth2Auth(client_id="client", client_secret="client-secret", redirect_uri=server.redirect_uri),
        ),
        credential_key="login",
    )


def test_openid_connect_checks_whom_the_id_token_is_for(converse: Any, kit: Any, server: Any, house: Any) -> None:
    seen: list[Any] = []
    talk = converse(house(), [tool_for(oidc(server), seen)])
    call = kit.asked(talk.say())[0]
    assert "nonce=" in call.args["authConfig"]["exchangedAuthCredential"]["oauth2"]["authUri"]
    talk.answer(call, kit.consented(server, call))
    assert seen[0].id_token in server.issued

    request = AuthHandler(oidc(server)).generate_auth_request()
    made = request.exchanged_auth_credential
    query = parse_qs(urlsplit(server.consent(made.oauth2.auth_uri)).query)  # type: ignore[union-attr,arg-type]
    other = made.oauth2.model_copy(update={"auth_code": query["code"][0], "nonce": "another"})  # type: ignore[union-attr]
    with pytest.raises(CredentialExchangeError, match=r"the ID token from .* is not for this request"):
        asyncio.run(
            OAuth2CredentialExchanger(HERE).exchange(made.model_copy(update={"oauth2": other}), request.auth_scheme)  # type: ignore[union-attr]
        )


@pytest.mark.parametrize("kind", ["oauth2", "openIdConnect"])
def test_end_points_are_discovered(converse: Any, kit: Any, server: Any, house: Any, kind: str) -> None:
    flow = OAuthFlowAuthorizationCode(authorizationUrl="", tokenUrl="", scopes={"read": ""})
    scheme: Any = (
        ExtendedOAuth2(flows=OAuthFlows(authorizationCode=flow), issuer_url=server.url)
        if kind == "oauth2"
        else OpenIdConnect(openIdConnectUrl=f"{server.url}/.well-known/openid-configuration")
    )
    config = kit.oauth_config(server).model_copy(update={"auth_scheme": scheme})
    talk = converse(house(), [tool_for(config, [])])
    call = kit.asked(talk.say())[0]
    assert kit.results(talk.answer(call, kit.consented(server, call))) == [{"ok": True}]


def test_a_service_account_signs_for_its_token(converse: Any, kit: Any, server: Any, house: Any) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    account = ServiceAccountCredential(
        type_="service_account",
        project_id="p",
        private_key_id="i",
        private_key=pem,
        client_email="robot@p.example",
        client_id="c",
        auth_uri="u",
        token_uri=f"{server.url}/token",
        auth_provider_x509_cert_url="x",
        client_x509_cert_url="y",
        universe_domain="googleapis.com",
    )
    raw = AuthCredential(
        auth_type="serviceAccount", service_account=ServiceAccount(service_account_credential=account, scopes=["s"])
    )
    config = AuthConfig(auth_scheme=HTTPBearer(), raw_auth_credential=raw, credential_key="robot")
    server.failure = (200, b'{"access_token": "robot-token", "expires_in": 3600, "token_type": "Bearer"}')

    def act(credential: AuthCredential) -> dict[str, Any]:
        """Act."""
        assert credential.http is not None
        return {"ok": credential.http.credentials.token == "robot-token"}

    tool = AuthenticatedFunctionTool(act, auth_config=config)
    assert kit.results(converse(house(), [tool]).say()) == [{"ok": True}]
    (request,) = server.requests
    head, claims, signature = request["assertion"].split(".")
    padded = signature + "=" * (-len(signature) % 4)
    key.public_key().verify(
        base64.urlsafe_b64decode(padded), f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256()
    )
    refused = kit.results(converse("standard", [tool]).say())[0]["error"]  # it may not reach this machine
    assert refused.endswith("no token for the service account: UrlRefusedError")


# --- where tokens are asked for ---------------------------------------------------------------------------------------


def exchange(url: str, policy: Policy) -> Any:
    flow = OAuthFlowAuthorizationCode(authorizationUrl=url, tokenUrl=url)
    credential = AuthCredential(
        auth_type="oauth2", oauth2=OAuth2Auth(client_id="c", client_secret="top-secret", auth_code="code-secret")
    )
    return asyncio.run(
        OAuth2CredentialExchanger(policy).exchange(credential, OAuth2(flows=OAuthFlows(authorizationCode=flow)))
    )


def test_a_token_end_point_must_be_public_and_encrypted_unless_the_operator_names_it(server: Any) -> None:
    with pytest.raises(CredentialExchangeError, match="is not https: credentials are sent there only if"):
        exchange(f"{server.url}/token", Policy())
    with pytest.raises(CredentialExchangeError, match="is not a public host"):
        exchange(f"https://127.0.0.1:{server.url.rpartition(':')[2]}/token", Policy())
    assert server.requests == []


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (400, b'{"error": "invalid_grant", "error_description": "code-secret"}', "it says invalid_grant"),
        (400, b'{"error": "code-secret"}', "its answer cannot be used"),
        (200, b"code-secret", "its answer cannot be used"),
        (200, b"[]", "its answer cannot be used"),
        (200, b'{"token_type": "code-secret"}', "the answer holds no access_token"),
        (500, b"code-secret", r"it cannot be reached \(status 500\)"),
    ],
)
def test_what_a_server_answers_shows_in_no_error(server: Any, status: int, body: bytes, why: str) -> None:
    server.failure = (status, body)
    with pytest.raises(CredentialExchangeError, match=why) as caught:
        exchange(f"{server.url}/token", HERE)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_a_redirect_is_not_followed(server: Any) -> None:
    server.failure = (307, b"")
    with pytest.raises(CredentialExchangeError):
        exchange(f"{server.url}/token", HERE)
    assert len(server.requests) == 1


def test_nothing_to_renew_is_an_error_that_says_so(server: Any, kit: Any) -> None:
    credential = AuthCredential(auth_type="oauth2", oauth2=OAuth2Auth(client_id="c", access_token="a", expires_at=1))
    refresher = OAuth2CredentialRefresher(HERE)
    assert asyncio.run(refresher.is_refresh_needed(credential))
    with pytest.raises(CredentialRefresherError, match="has no refresh token"):
        asyncio.run(refresher.refresh(credential, kit.oauth_config(server).auth_scheme))


# --- what is asked ----------------------------------------------------------------------------------------------------


def test_a_request_needs_a_client(server: Any, kit: Any) -> None:
    config = kit.oauth_config(server)
    for raw in (None, AuthCredential(auth_type="oauth2", oauth2=OAuth2Auth(client_secret="s-secret"))):
        with pytest.raises(AuthConfigError, match="needs an OAuth2 client: give AuthConfig"):
            AuthHandler(config.model_copy(update={"raw_auth_credential": raw})).generate_auth_request()


def test_without_the_libraries_the_error_says_what_to_install(
    server: Any, kit: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in ("authlib", "cryptography")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("authlib", "cryptography"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(FeatureUnavailableError, match=r"need Authlib: pip install 'newel\[auth\]'"):
        AuthHandler(kit.oauth_config(server)).generate_auth_request()
    with pytest.raises(FeatureUnavailableError, match=r"need cryptography: pip install 'newel\[auth\]'"):
        EncryptedFileCredentialService(tmp_path / "c")


def test_only_s256_is_a_challenge(server: Any, kit: Any) -> None:
    with pytest.raises(AuthConfigError, match="unsupported code_challenge_method 'plain'"):
        AuthHandler(kit.oauth_config(server, code_challenge_method="plain")).generate_auth_request()


def test_a_uri_of_the_app_s_own_is_kept(server: Any, kit: Any) -> None:
    request = AuthHandler(kit.oauth_config(server, auth_uri="https://a.example/x", state="s1")).generate_auth_request()
    assert request.exchanged_auth_credential is not None
    assert request.exchanged_auth_credential.oauth2.auth_uri == "https://a.example/x"  # type: ignore[union-attr]


def test_the_recorded_request_of_adk_holds_the_client_but_not_the_verifier(
    converse: Any, kit: Any, server: Any, house: Any
) -> None:
    talk = converse(house("adk"), [tool_for(kit.oauth_config(server), [])])
    call = kit.asked(talk.say())[0]
    asked = call.args["authConfig"]["exchangedAuthCredential"]["oauth2"]
    assert asked["clientSecret"] == "client-secret"
    assert "codeVerifier" not in asked
    assert kit.results(talk.answer(call, kit.consented(server, call))) == [{"ok": True}]


@pytest.fixture(autouse=True)
def warnings_only(caplog: Any) -> None:
    caplog.set_level(logging.WARNING)
