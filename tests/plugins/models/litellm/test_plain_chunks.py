"""Plain chunks: whatever is taken the short way comes out as it does the long way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel.models.litellm import library
from newel.models.litellm.assembly import LiteAssembly
from newel.models.litellm.call import LiteCall
from newel.models.litellm.plain_chunks import plain_text
from newel.models.litellm.routes import route_of
from newel.models.openai.declarations import Declarations
from newel.models.wire.names import Names
from newel.models.wire.service import Service
from newel_types import GenerateContentConfig

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning")
TEXT = {"content": "Rome"}
CALL = {"index": 0, "id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
LOGPROBS = {"content": [{"token": "Rome", "logprob": -0.5, "bytes": None, "top_logprobs": []}]}
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
PLAIN = [
    {"choices": [{"index": 0, "delta": TEXT}]},
    {"choices": [{"index": 0, "delta": {"role": "assistant", **TEXT}}]},
    {"choices": [{"index": 0, "delta": TEXT, "finish_reason": None}], "service_tier": "default", "citations": None},
    {"choices": [{"index": 0, "delta": {**TEXT, "tool_calls": None, "refusal": None}}], "system_fingerprint": "f"},
]
OTHERS = [
    {"choices": [{"index": 1, "delta": TEXT}]},
    {"choices": [{"index": 0, "delta": {"role": "assistant"}}]},
    {"choices": [{"index": 0, "delta": {"content": ""}}]},
    {"choices": []},
    {"choices": [{"index": 0, "delta": TEXT, "finish_reason": "stop"}]},
    {"choices": [{"index": 0, "delta": TEXT, "logprobs": LOGPROBS}]},
    {"choices": [{"index": 0, "delta": {**TEXT, "tool_calls": [CALL]}}]},
    {"choices": [{"index": 0, "delta": {**TEXT, "reasoning_content": "Hm."}}]},
    {"choices": [{"index": 0, "delta": {"reasoning_content": "Hm."}}]},
    {"choices": [{"index": 0, "delta": {**TEXT, "thinking_blocks": [{"type": "thinking", "thinking": "Hm."}]}}]},
    {"choices": [{"index": 0, "delta": {**TEXT, "provider_specific_fields": {"refusal": "No."}}}]},
    {"choices": [{"index": 0, "delta": TEXT}], "usage": USAGE},
]


def calling(name: str) -> LiteCall:
    service, route = Service("litellm", name), route_of(name)
    tools = Declarations(GenerateContentConfig(), Names(), lambda setting, text: None, strict=False)
    return LiteCall(None, {}, LiteAssembly(service, route.profile, Names(), tools), service, route, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("chunk", [*PLAIN, *OTHERS], ids=str)
@pytest.mark.parametrize("name", ["groq/llama", "anthropic/claude-sonnet-4-5"])
def test_a_plain_chunk_comes_out_as_any_other(chunk: dict[str, Any], name: str) -> None:
    litellm: Any = asyncio.run(library.load())
    made = litellm.ModelResponseStream(id="c", created=1, model="m", **chunk)
    end = litellm.ModelResponseStream(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])
    long, short, text = calling(name), calling(name), plain_text(made)
    assert (text == "Rome") is (chunk in PLAIN)
    first = long.assembly.feed(long._plain(made))
    second = short.assembly.feed(short._plain(made)) if text is None else short.assembly.feed_text(text, made.model)
    assert second == first
    for one in (long, short):
        one.assembly.feed(one._plain(end))
    assert short.assembly.finished(short.assembly.close()[1]) == long.assembly.finished(long.assembly.close()[1])
