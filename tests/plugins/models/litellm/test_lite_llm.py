"""LiteLlm through the real package, against a strict server of Anthropic's protocol."""

from __future__ import annotations

import asyncio
import gc
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest

from newel.models.kinds import model_of
from newel.models.lite_llm import LiteLlm
from newel.models.litellm.exchange import Exchange
from newel_compose import compose
from newel_kernel import LlmRequest, LlmResponse, ModelError
from newel_testkit.wire import WireServer, fault
from newel_testkit.wire.answers import Answer
from newel_types import Content, GenerateContentConfig, HttpRetryOptions, Part, ThinkingConfig

KEY = "sk-test-SECRET-0123456789"
BOTH = pytest.mark.parametrize("stream", [False, True])
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning")
THINKING = GenerateContentConfig(thinking_config=ThinkingConfig(thinking_budget=2048, include_thoughts=True))


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


def claude(server: WireServer, **fields: Any) -> LiteLlm:
    return LiteLlm(model="anthropic/claude-sonnet-4-5", api_base=server.base["anthropic"], api_key=KEY, **fields)


def ask(model: LiteLlm, *contents: Content, stream: bool = False, config: Any = None) -> list[LlmResponse]:
    async def collect() -> list[LlmResponse]:
        request = LlmRequest(contents=list(contents) or [user("hi")], config=config or GenerateContentConfig())
        return [response async for response in model.generate_content_async(request, stream=stream)]

    return asyncio.run(collect())


def user(words: str) -> Content:
    return Content(role="user", parts=[Part(text=words)])


@BOTH
def test_an_answer(server: WireServer, stream: bool) -> None:
    server.script(Answer(parts=({"text": "Hello there."},)))
    responses = ask(claude(server), stream=stream)
    assert responses[-1].content.parts[0].text == "Hello there."
    assert responses[-1].custom_metadata == {"finish_reason": "end_turn"}
    assert responses[-1].usage_metadata.total_token_count == 17
    assert "".join(r.content.parts[0].text for r in responses if r.partial) == ("Hello there." if stream else "")


@BOTH
def test_anthropic_thinking_round_trip(server: WireServer, stream: bool) -> None:
    server.script(Answer(parts=({"thought": "Let me see."}, {"text": "Four."})))
    model = claude(server)
    answer = ask(model, stream=stream, config=THINKING)[-1].content
    assert [part.text for part in answer.parts] == ["Let me see.", "Four."]
    assert answer.parts[0].part_metadata["provider"] == "anthropic"
    ask(model, user("hi"), answer, user("and?"), config=THINKING)
    sent = server.log[-1]
    assert sent.refused is None
    assert sent.body["messages"][1]["content"][0]["thinking"] == "Let me see."


def test_errors_keep_status_and_headers(server: WireServer) -> None:
    server.script(fault("429", retry_after=7))
    with pytest.raises(ModelError) as caught:
        ask(claude(server, retry_options=HttpRetryOptions(attempts=1)))
    assert (caught.value.code, caught.value.retry_after) == (429, 7)
    assert caught.value.request_id
    assert KEY not in f"{caught.value}{caught.value.__cause__!r}"


def test_no_second_retry_layer(server: WireServer) -> None:
    server.script(fault("500"))
    with pytest.raises(ModelError):
        ask(claude(server, retry_options=HttpRetryOptions(attempts=2, initial_delay=0.001)))
    assert len(server.log) == 2


@pytest.mark.parametrize("name", ["stream_no_end", "stream_cut", "stream_error", "stream_bad_json"])
def test_cut_stream_is_an_error(server: WireServer, name: str) -> None:
    server.script(fault(name))
    with pytest.raises(ModelError):
        ask(claude(server, retry_options=HttpRetryOptions(attempts=1)), stream=True)


def test_addresses_say_what_is_wrong() -> None:
    composed = compose("standard")
    assert model_of(composed, "litellm:openai/gpt-5").capabilities.output_schema_with_tools
    assert not model_of(composed, "litellm:unheard/of").capabilities.output_schema_with_tools
    with pytest.raises(ModelError, match="write litellm:PROVIDER/MODEL"):
        model_of(composed, "litellm:gpt-5")


def test_import_is_silent_and_offline() -> None:
    """Nothing printed, no socket, and not before the first call."""
    code = """
import asyncio, socket, sys
from newel.models.lite_llm import LiteLlm
from newel.models.litellm import library
assert "litellm" not in sys.modules
def refuse(*args, **more): raise AssertionError("a socket was opened")
socket.socket.connect = refuse
asyncio.run(library.load())
assert "litellm" in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("end", ["read", "left", "cancelled"])
def test_a_stream_that_is_collected_sets_no_context_variable(
    server: WireServer, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """Where that comes amid the setting of another one, Python 3.11 crashes."""
    from litellm.litellm_core_utils.litellm_logging import Logging

    late: list[object] = []
    monkeypatch.setattr(Logging, "_restore_correlation_context_if_unclaimed", lambda one: late.append(one))
    server.script(Answer(parts=({"text": "One. Two. Three."},), piece=4))
    model = claude(server)

    async def read() -> None:
        request = LlmRequest(contents=[user("hi")], config=GenerateContentConfig())
        async with aclosing(model.generate_content_async(request, stream=True)) as responses:
            async for _ in responses:
                if end == "left":
                    return
                if end == "cancelled":
                    await asyncio.sleep(60)

    async def main() -> None:
        task = asyncio.create_task(read())
        await asyncio.wait([task], timeout=2 if end == "cancelled" else None)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    gc.collect()
    assert late == []


@pytest.mark.parametrize(
    ("answer", "counts"),
    [
        (b'{"choices": [{"message": {"content": "I used \\"total_tokens\\": 9"}}], "usage": null}', False),
        (b'{"usage": {}, "max_output_tokens": 5, "max_tokens": 6}', False),
        (b'{"usage": {"prompt_tokens": 0, "total_tokens": 0}}', True),
        (b'{"usage": {"input_tokens" : 3}}', True),
        (b'{"usageMetadata": {"promptTokenCount": 3}}', True),
        (b'{"usage": {"inputTokens": 3}}', True),
        (b'{"done": true, "prompt_eval_count": 3}', True),
    ],
)
def test_only_the_services_own_count_counts(answer: bytes, counts: bool) -> None:
    for cut in range(0, len(answer), 7):
        exchange = Exchange(re.compile(b"-"), re.compile(b"-"))
        exchange.note(answer[:cut])
        exchange.note(answer[cut:])
        assert exchange.counts is counts
