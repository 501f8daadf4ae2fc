"""Keys: from the credential flow, to the operations that ask for them, at the origins that they are for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.auth import AuthCredential, HttpAuth, HttpCredentials, OAuth2Auth
from newel.openapi import OpenAPIToolset
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel.tools.openapi_tool.auth.auth_helpers import token_to_scheme_credential
from newel.types import Content, FunctionCall, FunctionResponse, Part
from newel_kernel import Event
from newel_testkit import OAuthServer, RestServer
from newel_testkit.rest_server import Answer

ASK = "adk_request_credential"
KEY, TOKEN = "KEY-OF-ANN-1", "TOKEN-OF-ANN"
SCHEMES: dict[str, Any] = {
    "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query": {"type": "apiKey", "in": "query", "name": "key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "basic": {"type": "http", "scheme": "Basic"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "tls": {"type": "mutualTLS"},
}


def document(rest: RestServer, security: Any, **more: Any) -> dict[str, Any]:
    rest.answers.setdefault("*", Answer(200, b'{"ok": true}', {"Content-Type": "application/json"}))
    operation = {
        "operationId": "op",
        **({} if security is None else {"security": security}),
        **more.pop("operation", {}),
    }
    return {
        "openapi": "3.1.0",
        "servers": [{"url": rest.url}],
        "paths": {"/x": {"get": operation}},
        "components": {"securitySchemes": SCHEMES},
        **more,
    }


def toolset(spec: dict[str, Any], **options: Any) -> OpenAPIToolset:
    return OpenAPIToolset(spec_dict=spec, allow_private_network_access=True, **options)


def http(scheme: str, **credentials: str) -> AuthCredential:
    return AuthCredential(auth_type="http", http=HttpAuth(scheme=scheme, credentials=HttpCredentials(**credentials)))


def key(value: str = KEY) -> AuthCredential:
    return AuthCredential(auth_type="apiKey", api_key=value)


class Chat:
    """A session of an agent that calls `op` on "go"."""

    def __init__(self, tools: list[Any], distribution: str = "standard") -> None:
        agent = LlmAgent(name="root", model=ScriptedModel([self._reply] * 40), tools=tools)
        self.sessions = InMemorySessionService()
        self.runner = Runner(
            agent=agent,
            app_name="app",
            session_service=self.sessions,
            auto_create_session=True,
            distribution=distribution,
        )

    @staticmethod
    def _reply(request: Any) -> Any:
        return FunctionCall(name="op", args={}) if request.contents[-1].parts[-1].text == "go" else "done"

    def say(self, message: Any = "go") -> list[Event]:
        async def run() -> list[Event]:
            events = self.runner.run_async(user_id="ann", session_id="s", new_message=message)
            return [event async for event in events]

        return asyncio.run(run())

    def answer(self, asked: FunctionCall, response: dict[str, Any]) -> list[Event]:
        part = Part(function_response=FunctionResponse(id=asked.id, name=ASK, response=response))
        return self.say(Content(role="user", parts=[part]))

    @property
    def stored(self) -> str:
        found = asyncio.run(self.sessions.get_session(app_name="app", user_id="ann", session_id="s"))
        assert found is not None
        return found.model_dump_json()


def asked(events: list[Event]) -> list[FunctionCall]:
    return [call for event in events for call in event.get_function_calls() if call.name == ASK]


def results(events: list[Event]) -> list[Any]:
    return [one.response for event in events for one in event.get_function_responses() if one.name == "op"]


@pytest.mark.parametrize(
    ("scheme", "credential", "place", "sent"),
    [
        ("header", key(), "x-key", KEY),
        ("cookie", key(), "cookie", f"sid={KEY}"),
        ("basic", http("basic", username="ann", password="pa:ss-word"), "authorization", "Basic YW5uOnBhOnNzLXdvcmQ="),
        ("bearer", http("bearer", token=TOKEN), "authorization", f"Bearer {TOKEN}"),
        ("query", key("a b&c=1"), "", "key=a%20b%26c%3D1"),
    ],
)
def test_each_scheme_is_sent_at_its_place(
    rest: RestServer, call: Any, context: Any, scheme: str, credential: AuthCredential, place: str, sent: str
) -> None:
    spec = document(rest, [{scheme: []}])
    assert call(toolset(spec, credentials={scheme: credential}), "op", {}, context) == {"ok": True}
    received = rest.requests[0]
    assert (received.headers[place] if place else received.query) == sent


@pytest.mark.parametrize(
    ("security", "given", "sent"),
    [
        ([{"bearer": []}, {"header": []}], {"header": key()}, {"x-key"}),
        ([{"bearer": []}, {"header": []}], {"header": key(), "bearer": http("bearer", token=TOKEN)}, {"authorization"}),
        (
            [{"bearer": [], "header": []}],
            {"header": key(), "bearer": http("bearer", token=TOKEN)},
            {"authorization", "x-key"},
        ),
        ([{}, {"header": []}], {"header": key()}, {"x-key"}),
        ([{}, {"bearer": []}], {"header": key()}, set()),
        ([], {"header": key()}, set()),
        ([{}], {"header": key()}, set()),
        (None, {"header": key()}, set()),
        ([{"tls": []}, {"header": []}], {"header": key()}, {"x-key"}),
    ],
)
def test_alternatives_and_combinations(rest: RestServer, call: Any, security: Any, given: Any, sent: set[str]) -> None:
    assert call(toolset(document(rest, security), credentials=given), "op", {}) == {"ok": True}
    assert rest.requests[0].headers.keys() & {"authorization", "x-key", "cookie"} == sent


def test_what_the_whole_document_asks_for_holds_for_an_operation_that_says_nothing(rest: RestServer, call: Any) -> None:
    spec = {**document(rest, None), "security": [{"header": []}]}
    assert call(toolset(spec, credentials={"header": key()}), "op", {}) == {"ok": True}
    assert rest.requests[0].headers["x-key"] == KEY


def test_the_key_of_a_toolset_serves_what_it_fits_and_a_document_that_says_nothing(rest: RestServer, call: Any) -> None:
    scheme, credential = token_to_scheme_credential("apikey", "header", "x-key", KEY)
    given = {"auth_scheme": scheme, "auth_credential": credential}
    assert call(toolset(document(rest, [{"header": []}]), **given), "op", {}) == {"ok": True}
    assert call(toolset(document(rest, None, components={}), **given), "op", {}) == {"ok": True}
    assert call(toolset(document(rest, None), **given), "op", {}) == {"ok": True}
    keys = [one.headers.get("x-key") for one in rest.requests]
    assert keys == [KEY, KEY, None]
    assert "pending" in call(toolset(document(rest, [{"bearer": []}]), **given), "op", {})
    assert len(rest.requests) == 3


@pytest.mark.parametrize("distribution", ["standard", "adk"])
def test_a_missing_key_is_asked_for_and_the_call_runs_again(rest: RestServer, distribution: str) -> None:
    chat = Chat([toolset(document(rest, [{"header": []}]))], distribution)
    events = chat.say()
    (request,) = asked(events)
    assert not rest.requests
    assert request.args["authConfig"]["credentialKey"] == f"header_127.0.0.1_{rest.url.rpartition(':')[2]}"
    events = chat.answer(
        request,
        {"authType": "apiKey", "apiKey": KEY}
        if distribution == "standard"
        else {**request.args["authConfig"], "exchangedAuthCredential": {"authType": "apiKey", "apiKey": KEY}},
    )
    assert results(events)[-1] == {"ok": True}
    assert rest.requests[0].headers["x-key"] == KEY
    if distribution == "standard":
        assert KEY not in chat.stored


def test_both_keys_of_a_combination_are_asked_for_one_after_the_other(rest: RestServer) -> None:
    chat = Chat([toolset(document(rest, [{"bearer": [], "header": []}]))])
    (first,) = asked(chat.say())
    (second,) = asked(chat.answer(first, {"result": TOKEN}))
    assert first.args["authConfig"]["credentialKey"].startswith("bearer_")
    assert second.args["authConfig"]["credentialKey"].startswith("header_")
    assert results(chat.answer(second, {"result": KEY}))[-1] == {"ok": True}
    headers = rest.requests[0].headers
    assert (headers["authorization"], headers["x-key"]) == (f"Bearer {TOKEN}", KEY)
    assert results(chat.say())[-1] == {"ok": True}  # both are kept
    assert len(rest.requests) == 2


def test_a_key_that_the_server_refuses_is_asked_for_again(rest: RestServer) -> None:
    rest.answers["*"] = Answer(401, b'{"message": "no"}', {"Content-Type": "application/json"})
    chat = Chat([toolset(document(rest, [{"header": []}]))])
    (first,) = asked(chat.say())
    events = chat.answer(first, {"result": "WRONG-KEY-1"})
    assert "call again to ask for another one" in results(events)[-1]["error"]
    rest.answers["*"] = Answer(200, b"{}", {"Content-Type": "application/json"})
    (second,) = asked(chat.say())
    chat.answer(second, {"result": KEY})
    assert [one.headers["x-key"] for one in rest.requests] == ["WRONG-KEY-1", KEY]


def test_a_key_that_the_server_shows_is_masked(rest: RestServer) -> None:
    rest.answers["*"] = Answer(403, f'{{"message": "bad key {KEY}"}}'.encode(), {"Content-Type": "application/json"})
    chat = Chat([toolset(document(rest, [{"query": []}]), credentials={"query": key()})])
    (result,) = results(chat.say())
    assert result["body"] == {"message": "bad key <secret>"}
    assert KEY not in chat.stored


@pytest.fixture
def oauth() -> Iterator[OAuthServer]:
    with OAuthServer() as running:
        yield running


def test_oauth_asks_for_the_scopes_that_operations_need(rest: RestServer, oauth: OAuthServer) -> None:
    flow = {
        "authorizationUrl": f"{oauth.url}/auth",
        "tokenUrl": f"{oauth.url}/token",
        "scopes": {"read": "Read.", "admin": "Everything."},
    }
    schemes = {"securitySchemes": {"login": {"type": "oauth2", "flows": {"authorizationCode": flow}}}}
    client = OAuth2Auth(client_id="client", client_secret="client-secret", redirect_uri=oauth.redirect_uri)
    given = {"login": AuthCredential(auth_type="oauth2", oauth2=client)}
    chat = Chat([toolset(document(rest, [{"login": ["read"]}], components=schemes), credentials=given)])
    (request,) = asked(chat.say())
    uri = request.args["authConfig"]["exchangedAuthCredential"]["oauth2"]["authUri"]
    assert "scope=read&" in f"{uri}&"
    assert not rest.requests


def test_a_scheme_that_needs_a_client_says_so(rest: RestServer, call: Any) -> None:
    flow = {"authorizationUrl": "https://l.example/a", "tokenUrl": "https://l.example/t", "scopes": {}}
    schemes = {"securitySchemes": {"login": {"type": "oauth2", "flows": {"authorizationCode": flow}}}}
    result = call(toolset(document(rest, [{"login": []}], components=schemes)), "op", {})
    assert "needs a credential" in result["error"]
    assert "client_id" in result["error"]


def test_keys_do_not_go_to_another_server_of_an_operation(rest: RestServer, call: Any) -> None:
    with RestServer() as other:
        other.answers["*"] = Answer(200, b"{}", {"Content-Type": "application/json"})
        spec = document(rest, [{"header": []}], operation={"servers": [{"url": other.url}]})
        assert "pending" in call(toolset(spec, credentials={"header": key()}), "op", {})
        assert not other.requests
        allowed = toolset(spec, credentials={"header": key()}, allow_origins=[other.url])
        assert call(allowed, "op", {}) == {}
        assert other.requests[0].headers["x-key"] == KEY


def test_a_redirect_takes_no_key_along(rest: RestServer, call: Any) -> None:
    with RestServer() as other:
        other.answers["*"] = Answer(200, b'{"at": "other"}', {"Content-Type": "application/json"})
        rest.answers["*"] = Answer(302, b"", {"Location": f"{other.url}/stolen"})
        spec = document(rest, [{"header": []}])
        result = call(toolset(spec, credentials={"header": key()}), "op", {})
        assert result["error"].endswith(
            f"it leads to {other.url}, which is not among the document's servers (see `allow_origins`)"
        )
        assert not other.requests
        spec["servers"].append({"url": other.url})
        assert call(toolset(spec, credentials={"header": key()}), "op", {}) == {"at": "other"}
        assert "x-key" not in other.requests[0].headers


def test_the_document_of_one_server_does_not_get_the_key_of_another() -> None:
    hosts = ["api.example", "api-example.org", "api.example.org", "api_example.org", "api.example.org:8443"]
    keys = set()
    for host in hosts:
        spec = {
            "openapi": "3.1.0",
            "servers": [{"url": f"https://{host}"}],
            "paths": {"/x": {"get": {"security": [{"header": []}]}}},
        }
        tool = toolset({**spec, "components": {"securitySchemes": SCHEMES}}).get_tool("x_get")
        assert tool is not None
        ((config,),) = tool._needs()
        keys.add("".join(c if c.isalnum() else "_" for c in str(config.credential_key).upper()))
    assert len(keys) == len(hosts)


def test_headers_of_a_provider_come_from_the_context(rest: RestServer) -> None:
    async def provide(context: Any) -> dict[str, str]:
        return {"X-User": context.user_id, "X-Token": "PROVIDED-SECRET"}

    rest.answers["*"] = Answer(200, b'{"echo": "PROVIDED-SECRET"}', {"Content-Type": "application/json"})
    chat = Chat([toolset(document(rest, []), header_provider=provide)])
    assert results(chat.say()) == [{"echo": "<secret>"}]
    assert (rest.requests[0].headers["x-user"], rest.requests[0].headers["x-token"]) == ("ann", "PROVIDED-SECRET")
    assert "PROVIDED-SECRET" not in chat.stored
