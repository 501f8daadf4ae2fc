"""GeminiServer: what it answers, what it refuses, and what it holds against a test."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from http.client import IncompleteRead
from typing import Any

import pytest

from newel_testkit import GeminiServer
from newel_testkit.gemini_server import call, text
from newel_testkit.wire.gemini_rules import refusal

HI = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}


def post(server: GeminiServer, body: Any, method: str = "generateContent", **headers: str) -> bytes:
    path = f"{server.url}/v1beta/models/gemini-2.5-flash:{method}"
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    http_request = urllib.request.Request(path, data, {"x-goog-api-key": "k", **headers})
    try:
        with urllib.request.urlopen(http_request, timeout=60) as answer:
            read: bytes = answer.read()
            return read
    except urllib.error.HTTPError as error:
        with error:
            return error.read()


def turn(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def result(name: str, **fields: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {}, **fields}}


def test_one_script_answers_both_ways() -> None:
    with GeminiServer() as server:
        for _ in range(2):
            server.stream("Hel", "lo", usage={"totalTokenCount": 4})
        whole = json.loads(post(server, HI))
        events = post(server, HI, "streamGenerateContent?alt=sse").decode().split("\r\n\r\n")
    assert whole["candidates"][0]["content"]["parts"] == [{"text": "Hello"}]
    assert whole["usageMetadata"] == {"totalTokenCount": 4}
    chunks = [json.loads(event.removeprefix("data: ")) for event in events if event]
    assert [c["candidates"][0]["content"]["parts"][0]["text"] for c in chunks] == ["Hel", "lo"]
    assert [c["candidates"][0].get("finishReason") for c in chunks] == [None, "STOP"]


def test_parts() -> None:
    assert text("a", thought=True, signature=b"\xff") == {"text": "a", "thought": True, "thoughtSignature": "/w=="}
    assert call("f", {"x": 1}, id="c") == {"functionCall": {"name": "f", "args": {"x": 1}, "id": "c"}}


def test_requests_are_recorded_and_the_key_is_not_shown() -> None:
    with GeminiServer() as server:
        server.reply("ok")
        post(server, HI, **{"x-goog-api-key": "very-secret"})
        [recorded] = server.requests
    assert recorded.model == "gemini-2.5-flash"
    assert recorded.body == HI
    assert recorded.key == "very-secret"
    assert "very-secret" not in repr(server.requests)


def test_leftovers_are_held_against_the_test() -> None:
    with pytest.raises(AssertionError, match="1 scripted answers were not asked for"), GeminiServer() as server:
        server.reply("never")


def test_a_request_too_many_is_held_against_the_test() -> None:
    with pytest.raises(AssertionError, match="request 1 has no scripted answer"), GeminiServer() as server:
        assert json.loads(post(server, HI))["error"]["code"] == 500


def test_a_failing_test_is_not_told_about_leftovers() -> None:
    def fail() -> None:
        with GeminiServer() as server:
            server.reply("never")
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail()


def test_a_request_without_a_key_is_refused() -> None:
    with GeminiServer() as server:
        answer = json.loads(post(server, HI, **{"x-goog-api-key": ""}))
    assert answer["error"]["status"] == "PERMISSION_DENIED"


def test_errors_dropped_connections_and_raw_bodies() -> None:
    with GeminiServer() as server:
        server.fail(429, "slow down")
        server.raw("<html>")
        server.stream("Hel", then="drop")
        assert json.loads(post(server, HI))["error"] == {
            "code": 429,
            "message": "slow down",
            "status": "RESOURCE_EXHAUSTED",
        }
        assert post(server, HI) == b"<html>"
        with pytest.raises(IncompleteRead):
            post(server, HI, "streamGenerateContent?alt=sse")


def test_malformed_requests_and_unknown_methods() -> None:
    with GeminiServer() as server:
        assert json.loads(post(server, b"{"))["error"]["code"] == 400
        assert json.loads(post(server, HI, "frobnicate/x"))["error"]["code"] == 404


def test_count_tokens_needs_no_script() -> None:
    with GeminiServer() as server:
        assert json.loads(post(server, HI, "countTokens"))["totalTokens"] == 1


def test_closing_ends_held_connections() -> None:
    with GeminiServer() as server:
        server.stream("Hel", then="hold")
        path = f"{server.url}/v1beta/models/m:streamGenerateContent?alt=sse"
        http_request = urllib.request.Request(path, json.dumps(HI).encode(), {"x-goog-api-key": "k"})
        answer = urllib.request.urlopen(http_request, timeout=60)
        assert answer.readline().startswith(b"data: ")
    with pytest.raises(IncompleteRead), answer:
        answer.read()
    assert not server.abandoned.is_set()


ASKED = turn("model", {"functionCall": {"name": "f", "args": {}}})
TWICE = turn("model", *ASKED["parts"], {"functionCall": {"name": "g", "args": {}}})
USER = HI["contents"][0]
DECLARED = [{"functionDeclarations": [{"name": "f"}]}]


@pytest.mark.parametrize(
    "body",
    [
        HI,
        {"contents": [USER, ASKED, turn("user", result("f"))]},
        {"contents": [USER, TWICE, turn("user", result("g"), result("f"))]},
        {"contents": [USER, ASKED, turn("user", result("f")), turn("model", {"text": "a"}), USER]},
        {"contents": [USER, USER]},
        HI | {"generation_config": {"top_k": 1}, "system_instruction": {"parts": [{"text": "x"}]}},
        HI | {"tools": [{"functionDeclarations": [{"name": "f", "parameters": {"type": "object"}}]}]},
        {"contents": [turn("user", {"text": "x", "thoughtSignature": "__s="})]},
    ],
)
def test_what_the_service_takes(body: dict[str, Any]) -> None:
    assert refusal(body) is None


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ([], "Root element"),
        (HI | {"labels": {}}, 'Unknown name "labels": Cannot find field'),
        (HI | {"nonsense": 1}, 'Unknown name "nonsense"'),
        ({"contents": [turn("user", {"text": "x", "color": 1})]}, r"at 'contents\[0\].parts\[0\]'"),
        (HI | {"generationConfig": {"labels": 1}}, "at 'generationConfig'"),
        (HI | {"tools": [{"functionDeclarations": [{"name": "f", "parameters": {"type": "dict"}}]}]}, "Invalid value"),
        ({"contents": [turn("user", {"text": "x", "thoughtSignature": "!"})]}, "Base64"),
        ({"contents": []}, "contents is not specified"),
        ({"contents": [turn("assistant", {"text": "x"})]}, "valid role"),
        ({"contents": [turn("user")]}, "must not be empty"),
        ({"contents": [turn("user", {"thought": True})]}, "oneof field 'data'"),
        ({"contents": [ASKED, turn("user", result("f"))]}, "function call turn comes immediately after"),
        ({"contents": [USER, turn("user", result("f"))]}, "function response turn comes immediately after"),
        ({"contents": [USER, ASKED, USER]}, "number of function response parts"),
        ({"contents": [USER, TWICE, turn("user", result("f"))]}, "number of function response parts"),
        ({"contents": [USER, ASKED, turn("user", result("g"))]}, "do not answer"),
        ({"contents": [USER, turn("model", {"text": "a"})]}, "end with a user role"),
        (HI | {"tools": DECLARED * 2}, "Duplicate function declaration"),
        (HI | {"tools": [{"functionDeclarations": [{"name": "1f"}]}]}, "Invalid function name"),
        (HI | {"tools": DECLARED, "generationConfig": {"responseMimeType": "application/json"}}, "unsupported"),
    ],
)
def test_what_the_service_refuses(body: Any, reason: str) -> None:
    problem = refusal(body)
    assert problem is not None
    with pytest.raises(ValueError, match=reason):
        raise ValueError(problem)


def test_vertex_knows_labels_and_a_schema_with_tools() -> None:
    body = HI | {"labels": {}, "tools": DECLARED, "generationConfig": {"responseMimeType": "application/json"}}
    assert refusal(body, vertex=True) is None


def test_composed_makes_a_fresh_composition(composed: Any) -> None:
    one, two = composed("minimal"), composed("minimal")
    assert one is not two
    assert one.distribution.name == "minimal"


def test_the_pytest_plugin_imports_little() -> None:
    code = (
        "import sys, newel.testing.fixtures;"
        "assert not {'pydantic', 'newel_compose._internal.composer', 'http.server'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
