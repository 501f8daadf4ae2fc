"""The client: faults, timeouts, connections, and what it needs before the first request."""

from __future__ import annotations

import asyncio
import copy
import pickle
import subprocess
import sys
import traceback
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from newel import types
from newel.models import LlmRequest, LlmResponse
from newel.models.anthropic_llm import AnthropicLlm, Claude
from newel_kernel import Json, ModelError
from newel_testkit.wire import Answer, fault
from newel_testkit.wire.caller import Caller, user
from newel_testkit.wire.faults import FAULTS
from newel_testkit.wire.http import HttpServer, Logged, Reply
from newel_types import GenerateContentConfig, HttpRetryOptions

ONCE = HttpRetryOptions(attempts=1)
LONG = Answer(parts=({"text": "word " * 200},), piece=5)


def _request(text: str = "Hi", **config: Any) -> LlmRequest:
    return LlmRequest(model="claude-sonnet-4-5", contents=[user(text)], config=GenerateContentConfig(**config))


def _failure(caller: Caller, key: str, name: str, stream: bool, **more: Any) -> tuple[ModelError, list[LlmResponse]]:
    """The error of a fault, in which the key is nowhere, and the responses before it."""
    config = {"http_options": {"timeout": 300}} if "stall" in name else {}
    caller.server.script(fault(name, **more))
    llm = AnthropicLlm(model="claude-sonnet-4-5", retry_options=ONCE)
    shown: list[LlmResponse] = []

    async def collect() -> None:
        async with aclosing(llm.generate_content_async(_request(**config), stream=stream)) as responses:
            async for response in responses:
                shown.append(response)

    with pytest.raises(ModelError) as raised:
        asyncio.run(collect())
    text = "".join(traceback.format_exception(raised.value)) + repr(raised.value) + repr(vars(raised.value))
    cause = raised.value.__cause__
    response = getattr(cause, "response", None)
    assert key not in text + repr(getattr(cause, "body", "")) + repr(getattr(response, "headers", ""))
    assert len(caller.server.log) == 1
    return raised.value, shown


@pytest.mark.parametrize("name", [name for name in FAULTS if FAULTS[name].within])
def test_stream_needs_message_stop(claude: Caller, key: str, name: str) -> None:
    error, shown = _failure(claude, key, name, True)
    assert shown
    assert all(response.partial for response in shown)
    assert error.retryable is (name in ("stream_cut", "stream_reset", "stream_error", "stream_no_end"))


def test_the_error_says_what_the_service_asks_for(claude: Caller, key: str) -> None:
    error, _ = _failure(claude, key, "429", False, retry_after=1.5, message=f"too many with {key}")
    assert error.retry_after == 1.5
    assert "too many with [api key]" in str(error)
    broken, _ = _failure(claude, key, "stream_cut", True)
    assert broken.code == "INCOMPLETE_STREAM"
    overloaded, _ = _failure(claude, key, "stream_error", True, message="Overloaded")
    assert overloaded.code == "overloaded_error"


def test_no_request_is_redirected(claude: Caller, key: str) -> None:
    error, _ = _failure(claude, key, "redirect", False)
    assert not error.retryable
    assert [request.path for request in claude.server.log] == ["/anthropic/v1/messages"]


def test_each_loop_has_its_client_and_a_copy_its_own(claude: Caller) -> None:
    llm = AnthropicLlm(model="claude-sonnet-4-5")
    for one in (llm, llm, copy.deepcopy(llm), pickle.loads(pickle.dumps(llm))):
        assert claude.ask(user("Hi"), llm=one)[-1].content is not None


def test_a_missing_key_is_one_message_before_any_request(
    claude: Caller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(ModelError, match="set ANTHROPIC_API_KEY"):
        claude.ask(user("Hi"))
    with pytest.raises(ModelError, match="set ANTHROPIC_API_KEY"):
        AnthropicLlm(model="claude-sonnet-4-5").check()
    assert not claude.server.log
    given = AnthropicLlm(model="claude-sonnet-4-5", api_key=SecretStr("sk-other"))
    given.check()
    assert "sk-other" not in repr(given)
    claude.ask(user("Hi"), llm=given)
    assert claude.server.log[-1].headers["authorization"] == "Bearer sk-other"
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token")
    claude.ask(user("Hi"))
    assert claude.server.log[-1].headers["authorization"] == "Bearer token"


def test_a_missing_sdk_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("newel.models.anthropic.client.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"pip install 'newel\[anthropic\]'"):
        AnthropicLlm(model="claude-sonnet-4-5").check()


def test_nothing_is_sent_offline(claude: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWEL_OFFLINE", "1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://api.anthropic.com")
    with pytest.raises(ModelError, match="NEWEL_OFFLINE"):
        claude.ask(user("Hi"))


VERTEX = "projects/p/locations/europe-west1/publishers/anthropic/models/claude-sonnet-4-5@20250929"


class _Vertex:
    """The two methods of Vertex AI's publisher models, over the same protocol."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.bodies: list[Json] = []

    def answer(self, request: Logged) -> Reply:
        self.paths.append(request.path)
        self.bodies.append(request.body)
        assert request.headers["authorization"] == "Bearer google-token"
        message = b'{"type": "message", "model": "m", "content": [{"type": "text", "text": "Hello."}], '
        message += b'"stop_reason": "end_turn", "usage": {"input_tokens": 3, "output_tokens": 2}}'
        if request.path.endswith(":rawPredict"):
            return Reply(body=message)
        start = b'event: content_block_start\ndata: {"type": "content_block_start", "index": 0, "content_block": '
        start += b'{"type": "text", "text": "Hello."}}\n\n'
        return Reply(events=[start, b'event: message_stop\ndata: {"type": "message_stop"}\n\n'])


@pytest.mark.parametrize("stream", [False, True])
def test_claude_reaches_vertex_ai(monkeypatch: pytest.MonkeyPatch, stream: bool) -> None:
    service = _Vertex()
    with HttpServer(service.answer) as http:
        llm = Claude(model=VERTEX, base_url=http.url, access_token=SecretStr("google-token"))
        llm.check()
        request = LlmRequest(model=VERTEX, contents=[user("Hi")], config=types.GenerateContentConfig(temperature=0.5))

        async def collect() -> list[LlmResponse]:
            return [response async for response in llm.generate_content_async(request, stream=stream)]

        final = asyncio.run(collect())[-1]
    assert final.content is not None
    assert final.content.parts[0].text == "Hello."  # type: ignore[index]
    method = "streamRawPredict" if stream else "rawPredict"
    assert service.paths == [f"/{VERTEX}:{method}"]
    assert service.bodies[0]["anthropic_version"]
    assert service.bodies[0]["temperature"] == 0.5
    assert "model" not in service.bodies[0]


def test_vertex_ai_needs_a_project(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT", "CLOUD_ML_REGION", "GOOGLE_CLOUD_LOCATION"):
        monkeypatch.delenv(name, raising=False)

    async def ask() -> None:
        async for _ in Claude().generate_content_async(_request()):
            pass

    with pytest.raises(ModelError, match="GOOGLE_CLOUD_PROJECT"):
        asyncio.run(ask())


def test_vertex_ai_without_credentials_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in (("NO_GCE_CHECK", "true"), ("CLOUDSDK_CONFIG", str(tmp_path)), ("HOME", str(tmp_path))):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)

    async def ask() -> None:
        async for _ in Claude(model=VERTEX).generate_content_async(_request()):
            pass

    with pytest.raises(ModelError, match="gcloud auth application-default login"):
        asyncio.run(ask())
    monkeypatch.setenv("NEWEL_OFFLINE", "1")
    with pytest.raises(ModelError, match="NEWEL_OFFLINE"):
        asyncio.run(ask())


def test_making_a_model_imports_no_sdk() -> None:
    code = """
import sys
from newel.models.kinds import ModelProvider, model_of
from newel_compose import compose
chains = compose("standard")
model = model_of(chains, "claude-sonnet-4-5")
assert type(model).__name__ == "AnthropicLlm", model
assert type(model_of(chains, "anthropic:claude-opus-5")).__name__ == "AnthropicLlm"
assert type(model_of(chains, "projects/p/locations/l/publishers/anthropic/models/claude-opus-5")).__name__ == "Claude"
wrong = {"anthropic", "httpx2", "openai", "litellm"} & set(sys.modules)
assert not wrong, wrong
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={**_environment(), "ANTHROPIC_API_KEY": "x"})


def _environment() -> dict[str, str]:
    import os

    return dict(os.environ)
