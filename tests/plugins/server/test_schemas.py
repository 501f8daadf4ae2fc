"""The description of the routes and their validation say the same, and nothing is answered that is not described."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError
from tests.plugins.server.generated import JSON, TEXTS, Values

from newel import Agent
from newel.artifacts.stored_part import NAME_PATTERN, scope_of
from newel.server import Options, app
from newel.server.application import Application
from newel.server.calls import as_endpoint
from newel.server.kinds import WEBSOCKET, Route
from newel.server.openapi import described, endpoints_of
from newel.testing import ScriptedModel
from newel_compose import compose
from newel_kernel import ConfigurationError
from newel_types.auth import ServiceAccount

COMPOSED = compose("standard")
#: Those of MCP speak a protocol of their own, and a page or its files are no JSON.
ROUTES = [
    one
    for one in COMPOSED.registry.all(Route)
    if one.method != WEBSOCKET and not re.search(r"/mcp|/dev-ui|^/$", one.path)
]
KNOWN = {
    "app_name": "clerk",
    "user_id": "ann",
    "session_id": "s",
    "artifact_name": "a.txt",
    "version_id": "0",
    "eval_set_id": "sums",
}
BODY = {"appName": "clerk", "userId": "ann", "sessionId": "s"}


@cache
def document() -> dict[str, Any]:
    return described(ROUTES)


def operations(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = document()["paths"][route.path.replace(":path", "")][route.method.lower()]
    return operation


class Server:
    """A server without a socket, on a loop of its own."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._app = self._runner.run(self._made())

    async def _made(self) -> Application:
        agent = Agent(name="clerk", model=ScriptedModel(["Good morning"] * 2000))
        return app(agents={"clerk": agent}, composition=COMPOSED, options=Options(development=True))

    def ask(self, method: str, path: str, query: dict[str, Any], body: Any) -> httpx.Response:
        """The answer while there is a session with an artifact, and an eval set."""
        return self._runner.run(self._asked(method, path, query, body))

    async def _asked(self, method: str, path: str, query: dict[str, Any], body: Any) -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self._app), base_url="http://server") as client:
            session = "/apps/clerk/users/ann/sessions/s"
            await client.post(session)
            await client.post(f"{session}/artifacts", json={"filename": "a.txt", "artifact": {"text": "a"}})
            await client.post("/apps/clerk/eval_sets/sums")
            content = json.dumps(body).encode() if body is not None else None
            headers = {"content-type": "application/json"} if body is not None else {}
            return await client.request(method, path, params=query, content=content, headers=headers)

    def close(self) -> None:
        self._runner.run(self._app.close())
        self._runner.close()


@pytest.fixture
def server() -> Iterator[Server]:
    serving = Server()
    yield serving
    serving.close()


def parameters(operation: dict[str, Any], values: Values) -> st.SearchStrategy[tuple[dict[str, str], dict[str, Any]]]:
    """Those of the path and of the query."""
    found: dict[str, dict[str, Any]] = {"path": {}, "query": {}}
    for one in operation.get("parameters", ()):
        strategy = values.of(one["schema"]).filter(lambda value: value is not None and value not in (".", ".."))
        if one["in"] == "path" and (known := KNOWN.get(one["name"])):
            strategy = st.just(known) | strategy
        found[one["in"]][one["name"]] = strategy
    required = {one["name"] for one in operation.get("parameters", ()) if one["required"]}
    query = found["query"]
    return st.tuples(
        st.fixed_dictionaries(found["path"]),
        st.fixed_dictionaries(
            {name: one for name, one in query.items() if name in required},
            optional={name: one for name, one in query.items() if name not in required},
        ),
    )


def bodies(operation: dict[str, Any], values: Values) -> st.SearchStrategy[tuple[Any, bool]]:
    """Bodies, and whether they fit: as described, and some that are spoilt."""
    if "requestBody" not in operation:
        return st.just((None, True))
    content = operation["requestBody"]["content"]
    if "application/json" not in content:  # a form with files: what is JSON does not fit
        return st.tuples(JSON, st.just(False))
    schema = content["application/json"]["schema"]
    fitting = values.of(schema).map(lambda body: body | BODY if isinstance(body, dict) and "appName" in body else body)
    spoilt = st.tuples(fitting, TEXTS, JSON).map(
        lambda parts: {**parts[0], parts[1]: parts[2]} if isinstance(parts[0], dict) else parts[2]
    )
    return st.tuples(fitting, st.just(True)) | st.tuples(spoilt | JSON, st.just(False))


def declared(operation: dict[str, Any], answer: httpx.Response) -> dict[str, Any]:
    """The schema of an answer with that status and media type."""
    status = str(answer.status_code)
    responses = operation["responses"]
    described = responses.get(status) or responses.get(f"{status[0]}XX")
    assert described is not None, f"status {status} is not declared"
    media_type = answer.headers["content-type"].partition(";")[0]
    assert media_type in described["content"], (media_type, answer.text)
    schema: dict[str, Any] = described["content"][media_type]["schema"]
    return schema


@pytest.mark.parametrize("route", ROUTES, ids=lambda one: one.name)
def test_a_server_answers_as_it_says(server: Server, route: Route) -> None:
    operation, values = operations(route), Values(document())

    @settings(max_examples=15, deadline=None)
    @given(parameters(operation, values), bodies(operation, values))
    def check(named: tuple[dict[str, str], dict[str, Any]], sent: tuple[Any, bool]) -> None:
        (inside, query), (body, fits) = named, sent
        path = re.sub(r"\{(\w+)(:path)?\}", lambda match: quote(str(inside[match[1]]), safe=""), route.path)
        answer = server.ask(route.method, path, query, body)
        assert answer.status_code != 500, answer.text
        schema = declared(operation, answer)
        value = answer.json() if "json" in answer.headers["content-type"] else answer.text
        Draft202012Validator({**schema, "components": document()["components"]}).validate(value)
        if fits and not route.development:
            assert answer.status_code != 422, answer.text

    check()


def spoilt(value: Any) -> Iterator[Any]:
    """`value` with `false` for one of its numbers, or a number for one of its truths, for each of them."""
    if isinstance(value, (dict, list)):
        for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
            for other in spoilt(item):
                copy = value.copy()
                copy[key] = other
                yield copy
    elif isinstance(value, (int, float)):
        yield int(value) if isinstance(value, bool) else False


#: To describe the routes takes a second, which each process that collects the tests would spend.
WITH_BODIES = [route for route, endpoint in endpoints_of(ROUTES) if endpoint.body is not None]


@pytest.mark.parametrize("route", WITH_BODIES, ids=lambda one: one.name)
def test_neither_false_nor_a_number_stands_for_the_other(server: Server, route: Route) -> None:
    operation, values = operations(route), Values(document())
    if not re.search('"(number|integer|boolean)"', json.dumps(values.whole(operation["requestBody"]))):
        return
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    validator = Draft202012Validator({**schema, "components": document()["components"]})
    path = re.sub(r"\{(\w+)(:path)?\}", lambda match: KNOWN.get(match[1], "x"), route.path)

    @settings(max_examples=25, deadline=None)
    @given(values.of(schema))
    def check(body: Any) -> None:
        for other in [one for one in spoilt(body) if not validator.is_valid(one)][:3]:
            answer = server.ask(route.method, path, {}, other)
            assert answer.status_code == 422, (other, answer.text)

    check()


def test_a_number_that_is_false_is_named(server: Server) -> None:
    event = {"author": "user", "timestamp": False, "content": {"role": "user", "parts": [{"text": "hi"}]}}
    path = "/apps/clerk/users/ann/sessions"
    answer = server.ask("POST", path, {}, {"sessionId": "t", "events": [event], "state": {"any": True}})
    assert answer.status_code == 422
    assert [one["loc"] for one in answer.json()["detail"]] == [["body", "events", 0, "timestamp"]]
    event["timestamp"] = 1
    assert server.ask("POST", path, {}, {"sessionId": "t", "events": [event]}).status_code == 200


def test_an_eval_set_is_answered_as_it_is_described(server: Server) -> None:
    route = next(one for one in ROUTES if one.name == "create_eval_set")
    case = {"evalId": "one", "skip": "", "conversation": [{"userContent": {"role": "user", "parts": [{"text": "hi"}]}}]}
    answer = server.ask("POST", "/dev/apps/clerk/eval-sets", {}, {"evalSet": {"evalSetId": "s", "evalCases": [case]}})
    schema = {**declared(operations(route), answer), "components": document()["components"]}
    Draft202012Validator(schema).validate(answer.json())
    sent = operations(route)["requestBody"]["content"]["application/json"]["schema"]
    body = {"evalSet": {"evalSetId": "no spaces", "evalCases": []}}
    assert server.ask("POST", "/dev/apps/clerk/eval-sets", {}, body).status_code == 400
    assert not Draft202012Validator({**sent, "components": document()["components"]}).is_valid(body)


@pytest.mark.parametrize("partial", [0, 1, "true", "no"])
def test_a_truth_that_is_a_number_or_a_text_is_named(server: Server, partial: object) -> None:
    event = {"author": "user", "partial": partial, "actions": {"escalate": partial}}
    body = {"sessionId": "t", "events": [event], "state": {"partial": 1}}
    answer = server.ask("POST", "/apps/clerk/users/ann/sessions", {}, body)
    assert answer.status_code == 422
    begin = ["body", "events", 0]
    assert [one["loc"] for one in answer.json()["detail"]] == [[*begin, "partial"], [*begin, "actions", "escalate"]]


@pytest.mark.parametrize("route", ROUTES, ids=lambda one: one.name)
def test_a_route_says_what_it_answers(route: Route) -> None:
    endpoint = as_endpoint(route.load())
    assert endpoint.answer is not None or endpoint.media_type != "application/json"
    assert endpoint.text


@settings(max_examples=500)
@given(st.text(max_size=12) | st.text("user: ./\\ab\n\x1f\x85\u2003", max_size=8) | st.from_regex(NAME_PATTERN))
def test_the_pattern_of_artifacts_names_is_their_rule(name: str) -> None:
    try:
        scope_of(name, "s")
    except ConfigurationError as error:
        taken = "half a character" in str(error)  # which neither a path nor a body can hold
    else:
        taken = True
    assert taken is (re.search(NAME_PATTERN, name) is not None) or "\ud800" <= max(name, default="") <= "\udfff"


def component(name: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": document()["components"]})


def test_only_what_a_record_holds_keeps_fields_that_are_unknown() -> None:
    schemas = document()["components"]["schemas"]
    assert "x-record" not in json.dumps(schemas)
    assert {schemas[name]["additionalProperties"] for name in ("Rubric", "ConversationScenario")} == {False}
    assert {schemas[name]["additionalProperties"] for name in ("Content", "EventCompaction", "ToolConfirmation")} == {
        True
    }


@given(st.sets(st.sampled_from(["cache_name", "expire_time", "invocations_used"])))
def test_the_fields_of_a_cache_are_described_as_they_are_checked(named: set[str]) -> None:
    values = {"cache_name": "c", "expire_time": 1.0, "invocations_used": 1}
    body = {"fingerprint": "f", "contents_count": 1, **{name: values[name] for name in named}}
    assert component("CacheMetadata").is_valid(body) is (len(named) in (0, 3))


@given(
    st.dictionaries(st.sampled_from(["useDefaultCredential", "useIdToken"]), st.booleans() | st.none()),
    st.dictionaries(st.just("audience"), st.sampled_from([None, "", "https://a.example"])),
)
def test_a_service_account_is_described_as_it_is_checked(
    flags: dict[str, bool | None], audience: dict[str, str | None]
) -> None:
    body = {**flags, **audience}
    try:
        ServiceAccount.model_validate(body)
    except ValidationError:
        taken = False
    else:
        taken = True
    assert component("ServiceAccount").is_valid(body) is taken


@pytest.mark.parametrize(
    ("name", "scheme", "fits"),
    [
        ("HTTPBearer", {"scheme": "bearer"}, True),
        ("HTTPBearer", {"type": "http"}, False),
        ("OpenIdConnect", {"openIdConnectUrl": "https://a.example"}, True),
        ("APIKey", {"in": "header", "name": "key"}, True),
        ("APIKey", {"type": "http", "in": "header", "name": "key"}, False),
        ("CustomAuthScheme", {}, False),
    ],
)
def test_a_scheme_without_its_type_is_known_by_its_fields(name: str, scheme: dict[str, str], fits: bool) -> None:
    assert component(name).is_valid(scheme) is fits
