"""What a server answers, and what becomes of it: results, artifacts, and error results with a status."""

from __future__ import annotations

import asyncio
import socket
import time
from email.utils import formatdate
from typing import Any

import pytest
from tests.plugins.openapi.contexts import context_in

from newel.agents import LlmAgent
from newel.artifacts import InMemoryArtifactService
from newel.openapi import OpenAPIToolset, OperationEndpoint, RestApiTool
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel.types import Blob, FunctionCall, Part
from newel_testkit import RestServer
from newel_testkit.rest_server import Answer

PNG = bytes.fromhex("89504e470d0a1a0a") + bytes(range(256))


def answered(status: int = 200, body: bytes = b"", kind: str = "application/json", **headers: str) -> Answer:
    return Answer(status, body, {"Content-Type": kind, **{k.replace("_", "-"): v for k, v in headers.items()}})


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (answered(200, b'{"a": null}'), {"a": None}),
        (answered(200, b"[1, 2]"), {"result": [1, 2]}),
        (answered(200, b"null"), {"result": None}),
        (answered(200, b"not json"), {"text": "not json"}),
        (answered(200, b"[" * 100_000), {"text": "[" * 100_000}),
        (answered(200, b"<html>", "text/html"), {"text": "<html>"}),
        (answered(200, "ü".encode("latin-1"), "text/plain; charset=latin-1"), {"text": "ü"}),
        (answered(204), {"status": 204}),
        (answered(200, b"", "application/json"), {"status": 200}),
        (answered(200, b'{"x": 1}', "application/problem+json"), {"x": 1}),
    ],
)
def test_a_good_answer_is_the_result(
    rest: RestServer, of: Any, call: Any, context: Any, answer: Answer, result: Any
) -> None:
    rest.answers["*"] = answer
    assert call(of(rest, {}), "op", {}, context) == result


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 429, 500, 503, 599])
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_bad_answer_is_an_error_result_with_its_status(
    rest: RestServer, of: Any, call: Any, context: Any, status: int, method: str
) -> None:
    rest.answers["*"] = answered(status, b'{"detail": "because"}', Retry_After="7")
    result = call(of(rest, {}, method=method), "op", {}, context)
    assert result["status"] == status
    assert result["body"] == {"detail": "because"}
    assert result["error"].startswith(f"{method.upper()} /x answered {status}")
    assert result.get("retry_after") == (7 if method == "get" else None)
    assert ("do not call it again without asking" in result["error"]) == (method == "post" and status >= 500)
    assert len(rest.requests) == 1


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("5", 5), ("0", 0), ("999999999", 86_400), ("-1", None), ("soon", None), ("9" * 400, None), ("", None)],
)
def test_retry_after_is_read_with_care(rest: RestServer, of: Any, call: Any, value: str, seconds: int | None) -> None:
    rest.answers["*"] = answered(503, b"", Retry_After=value)
    assert call(of(rest, {}), "op", {}).get("retry_after") == seconds


def test_retry_after_may_be_a_date(rest: RestServer, of: Any, call: Any) -> None:
    rest.answers["*"] = answered(503, b"", Retry_After=formatdate(time.time() + 60, usegmt=True))
    assert 50 <= call(of(rest, {}), "op", {})["retry_after"] <= 60


def test_a_long_answer_is_bounded(rest: RestServer, of: Any, call: Any) -> None:
    rest.answers["*"] = answered(200, b'{"text": "' + b"b" * 5_000_000 + b'"}')
    result = call(of(rest, {}), "op", {})
    assert (len(result["text"]), result["truncated"]) == (1_000_000, True)
    rest.answers["*"] = answered(500, b"e" * 50_000, "text/plain")
    assert len(call(of(rest, {}), "op", {})["body"]) < 4_100


def test_a_server_that_is_not_there_was_sent_nothing(call: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    spec = {
        "openapi": "3.1.0",
        "servers": [{"url": f"http://127.0.0.1:{port}"}],
        "paths": {"/x": {"post": {"operationId": "op"}}},
    }
    result = call(OpenAPIToolset(spec_dict=spec, allow_private_network_access=True), "op", {})
    assert result["error"].startswith("POST /x: no connection to http://127.0.0.1:")
    assert result["error"].endswith("nothing was sent")


@pytest.mark.parametrize(("method", "doubtful"), [("get", False), ("post", True), ("put", False)])
def test_a_server_that_breaks_off_leaves_a_doubt_about_what_may_not_be_repeated(
    call: Any, method: str, doubtful: bool
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        spec = {
            "openapi": "3.1.0",
            "servers": [{"url": f"http://127.0.0.1:{port}"}],
            "paths": {"/x": {method: {"operationId": "op"}}},
        }
        toolset = OpenAPIToolset(spec_dict=spec, allow_private_network_access=True)

        async def run() -> Any:
            tool = toolset.get_tool("op")
            assert tool is not None
            waiting = asyncio.ensure_future(tool.run_async(args={}, tool_context=context_in("standard")))
            connection, _ = await asyncio.to_thread(listening.accept)
            await asyncio.to_thread(connection.recv, 10_000)
            connection.close()
            result = await waiting
            await toolset.close()
            return result

        result = asyncio.run(run())
    assert ("whether it has taken effect is unknown" in result["error"]) is doubtful


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1", "http://localhost:1", "http://169.254.169.254", "http://[::1]:1", "http://10.0.0.1"]
)
def test_a_private_server_is_refused_unless_it_is_allowed(call: Any, url: str) -> None:
    spec = {"openapi": "3.1.0", "servers": [{"url": url}], "paths": {"/x": {"get": {"operationId": "op"}}}}
    result = call(OpenAPIToolset(spec_dict=spec), "op", {})
    assert "is not a public host" in result["error"]
    assert result["error"].endswith("nothing was sent")


def test_a_setting_allows_a_private_server(rest: RestServer, tmp_path: Any) -> None:
    house = tmp_path / "house.yaml"
    house.write_text(
        "name: house\nextends: standard\nsettings: {openapi: {allow: ['127.0.0.0/8'], max_bytes: 2000}}\n", "utf-8"
    )
    tool = OpenAPIToolset(spec_dict=rest.document).get_tool("get_pet")
    assert tool is not None
    result = asyncio.run(tool.run_async(args={"id": 1}, tool_context=context_in(str(house))))
    assert result["name"] == "Tom"


class Chat:
    """One run of an agent with artifacts that calls `op` once."""

    def __init__(self, toolset: OpenAPIToolset, args: dict[str, Any]) -> None:
        self.artifacts = InMemoryArtifactService()
        agent = LlmAgent(
            name="root", model=ScriptedModel([FunctionCall(name="op", args=args), "done"]), tools=[toolset]
        )
        self.runner = Runner(
            agent=agent,
            app_name="app",
            session_service=InMemorySessionService(),
            artifact_service=self.artifacts,
            auto_create_session=True,
        )
        self.where = {"app_name": "app", "user_id": "ann", "session_id": "s"}

    async def run(self) -> Any:
        events = self.runner.run_async(user_id="ann", session_id="s", new_message="go")
        return next(r.response for event in [e async for e in events] for r in event.get_function_responses())


def test_a_picture_becomes_an_artifact(rest: RestServer, of: Any) -> None:
    rest.answers["*"] = answered(200, PNG, "image/png")
    chat = Chat(of(rest, {}), {})

    async def run() -> None:
        result = await chat.run()
        assert result == {"artifact": "op.png", "version": 0, "content_type": "image/png", "bytes": len(PNG)}
        kept = await chat.artifacts.load_artifact(**chat.where, filename="op.png")
        assert kept is not None
        assert kept.inline_data is not None
        assert kept.inline_data.data == PNG

    asyncio.run(run())


def test_a_picture_without_artifacts_is_described(rest: RestServer, of: Any, call: Any) -> None:
    rest.answers["*"] = answered(200, PNG, "image/png")
    result = call(of(rest, {}), "op", {})
    assert (result["content_type"], result["bytes"]) == ("image/png", len(PNG))


def test_an_artifact_is_uploaded_in_pieces(rest: RestServer, of: Any) -> None:
    rest.answers["*"] = answered(200, b"{}")
    large = PNG * 20_000
    schema = {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}}
    body = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": schema}}}}
    chat = Chat(of(rest, body, method="put"), {"file": {"artifact": "large.png"}})

    async def run() -> Any:
        part = Part(inline_data=Blob(data=large, mime_type="image/png"))
        await chat.artifacts.save_artifact(**chat.where, filename="large.png", artifact=part)
        return await chat.run()

    assert asyncio.run(run()) == {}
    (received,) = rest.requests
    assert b'name="file"; filename="large.png"\r\nContent-Type: image/png\r\n\r\n' in received.body
    assert large in received.body


def test_a_tool_can_be_made_of_an_operation_alone(rest: RestServer, call: Any) -> None:
    operation = {"parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}]}
    tool = RestApiTool(
        name="get_pet",
        description="Get a pet.",
        endpoint=OperationEndpoint(base_url=rest.url, path="/pets/{id}", method="get"),
        operation=operation,
        allow_private_network_access=True,
    )
    tool.set_default_headers({"X-Default": "d"})
    assert asyncio.run(tool.run_async(args={"id": 1}, tool_context=context_in("standard")))["name"] == "Tom"
    assert rest.requests[0].headers["x-default"] == "d"


@pytest.mark.parametrize("location", ["file:///etc/passwd", "http://u:p@h/"])
def test_a_redirect_that_leads_nowhere_does_not_say_that_nothing_was_sent(
    rest: RestServer, of: Any, call: Any, location: str
) -> None:
    rest.answers["*"] = answered(302, b"", Location=location)
    result = call(of(rest, {}, method="post"), "op", {})
    assert result["status"] == 302
    assert "nothing was sent" not in result["error"]
    assert len(rest.requests) == 1


@pytest.mark.parametrize("name", ["accept", "ACCEPT", "content-type"])
def test_a_header_of_the_users_own_replaces_ours_whatever_its_letters(
    rest: RestServer, of: Any, call: Any, name: str
) -> None:
    body = {"requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}}}
    options = {"header_provider": lambda context: {name: "text/own"}}
    call(of(rest, body, method="post", options=options), "op", {"body": {}})
    (request,) = rest.requests
    wanted = "application/json" if name == "content-type" else "text/own"
    assert request.headers[name.lower()] == wanted


def test_a_client_of_the_users_own_that_fails_is_an_error_result(rest: RestServer, of: Any, call: Any) -> None:
    class Failing:
        closed = False

        async def request(self, method: str, url: str, **options: Any) -> Any:
            raise ZeroDivisionError("no luck")

        async def aclose(self) -> None:
            self.closed = True

    client = Failing()
    result = call(of(rest, {}, options={"httpx_client_factory": lambda: client}), "op", {})
    assert result == {"error": "GET /x: the client failed: ZeroDivisionError: no luck"}
    assert client.closed


def test_a_client_of_the_users_own_sends_the_requests(rest: RestServer, of: Any, call: Any) -> None:
    httpx = pytest.importorskip("httpx")
    made: list[Any] = []

    def make() -> Any:
        made.append(httpx.AsyncClient(headers={"X-Own": "own"}))
        return made[-1]

    rest.answers["*"] = answered(302, b"", Location="http://169.254.169.254/")
    result = call(of(rest, {}, options={"httpx_client_factory": make}), "op", {})
    assert result["status"] == 302
    assert rest.requests[0].headers["x-own"] == "own"
    assert made[0].is_closed
    private = OpenAPIToolset(spec_dict=rest.document, httpx_client_factory=make)
    assert "is not a public host" in call(private, "list_pets", {})["error"]
