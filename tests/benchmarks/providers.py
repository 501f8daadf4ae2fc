"""What the providers add to their SDKs: a streamed chunk, and the conversion of a history.

``python tests/benchmarks/providers.py [stream|history] [PROVIDER ...]`` prints a line for each. In ``stream`` each SDK
is cut out where newel calls it: the chunks that it would give, objects of its own where newel gets those, are made
beforehand, and a turn of 1,000 of them runs through a Runner. What is done to bytes, server-sent events and JSON is the
SDK's work, also where newel does it in its place. Turns take turns with those of floor.py's `stream` in one process,
and a figure is the median of their ratios. In ``history`` a request with 1,000 contents that a session has kept, and
one new one, is converted, and compared with one of 10. The distribution is the one that NEWEL_DISTRIBUTION names,
else `adk`.
"""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from statistics import median
from types import SimpleNamespace
from typing import Any, TypeVar

os.environ.setdefault("NEWEL_DISTRIBUTION", "adk")

import floor

from newel import Agent
from newel.agents.run_config import RunConfig, StreamingMode
from newel.models import BaseLlm
from newel.models.anthropic.client import Call
from newel.models.anthropic_llm import AnthropicLlm
from newel.models.google_llm import Gemini
from newel.models.lite_llm import LiteLlm
from newel.models.litellm import library
from newel.models.llm_request import LlmRequest
from newel.models.openai.client import Sender
from newel.models.openai_llm import OpenAILlm
from newel.models.openai_responses_llm import OpenAIResponsesLlm
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.types import Content, Part
from newel_types import SharedContents, freeze

T = TypeVar("T")

CHUNKS = 1000
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "15"))
#: As many different chunks as a stream has; they come again and again.
FEW = 10
TEXTS = [f"token{number} " for number in range(FEW)]
_LOCAL = "http://127.0.0.1:9/v1"


def _many(few: list[T]) -> list[T]:
    """`few` until there are enough. An SDK has just made a chunk, so that it lies in the processor's cache.

    A thousand of them would come from memory, which takes longer than all that is done with them.
    """
    return few * (CHUNKS // len(few))


def anthropic_events() -> list[Any]:
    usage = {"input_tokens": 10, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": [], "usage": usage}
    deltas = [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": t}} for t in TEXTS]
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *_many(deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]


def chat_events() -> list[Any]:
    def chunk(delta: Any, finish: str | None = None) -> Any:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}

    return [*_many([chunk({"content": text}) for text in TEXTS]), chunk({}, "stop")]


def response_events() -> list[Any]:
    where = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
    part = {"type": "output_text", "text": "".join(_many(TEXTS)), "annotations": []}
    item = {"id": "msg_1", "type": "message", "role": "assistant", "content": [part]}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    response = {"id": "r", "object": "response", "status": "completed", "model": "m", "output": [item], "usage": usage}
    return [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        *_many([{"type": "response.output_text.delta", **where, "delta": text} for text in TEXTS]),
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]


def gemini_chunks() -> list[Any]:
    from google.genai import types

    def chunk(text: str, **more: Any) -> Any:
        candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0, **more}
        counts = {"prompt_token_count": 10, "candidates_token_count": 2, "total_token_count": 12}
        fields = {"candidates": [candidate], "model_version": "m", "response_id": "r", "usage_metadata": counts}
        return types.GenerateContentResponse.model_validate(fields)

    return [*_many([chunk(text) for text in TEXTS])[:-1], chunk(TEXTS[-1], finish_reason="STOP")]


async def _each(items: list[Any]) -> AsyncGenerator[Any, None]:
    for item in items:
        yield item


class _Body:
    """A response of the HTTP library, whose events are made already."""

    async def aclose(self) -> None:
        """Nothing is open."""


def _patched_openai(items: list[Any]) -> None:
    @asynccontextmanager
    async def streamed(self: Any, endpoint: Any, call: Any) -> AsyncIterator[Any]:
        yield _each(items)

    Sender.streamed = streamed  # type: ignore[method-assign]


def openai() -> BaseLlm:
    _patched_openai(chat_events())
    return OpenAILlm(model="gpt-4o", base_url=_LOCAL, api_key="k")


def openai_responses() -> BaseLlm:
    _patched_openai(response_events())
    return OpenAIResponsesLlm(model="gpt-4o", base_url=_LOCAL, api_key="k")


def anthropic() -> BaseLlm:
    import anthropic as sdk

    items = [SimpleNamespace(event=one["type"], data=one) for one in anthropic_events()]

    @asynccontextmanager
    async def sent(self: Any, body: Any) -> AsyncIterator[Any]:
        yield _Body()

    Call._sent = sent  # type: ignore[method-assign]
    Call._parsed = lambda self, data: data  # type: ignore[method-assign]
    sdk.AsyncStream.raw_events = staticmethod(lambda response: _each(items))  # type: ignore[method-assign,assignment]
    return AnthropicLlm(model="claude-sonnet-4-5", api_key="k")


def gemini() -> BaseLlm:
    from google.genai.models import AsyncModels

    items = gemini_chunks()

    async def stream(self: Any, **arguments: Any) -> Any:
        return _each(items)

    AsyncModels.generate_content_stream = stream  # type: ignore[method-assign]
    os.environ["GOOGLE_API_KEY"] = "k"
    return Gemini(model="gemini-2.5-flash")


def litellm() -> BaseLlm:
    sdk: Any = library._load()
    made = [sdk.ModelResponseStream(**one) for one in (*chat_events()[:FEW], chat_events()[-1])]
    items = [*_many(made[:FEW]), made[-1]]

    async def acompletion(**arguments: Any) -> Any:
        return _each(items)

    sdk.acompletion = acompletion
    return LiteLlm(model="groq/llama", api_base=_LOCAL, api_key="k")


PROVIDERS: dict[str, Callable[[], BaseLlm]] = {
    "openai": openai,
    "openai_responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "litellm": litellm,
}


async def _stream(model: BaseLlm) -> tuple[float, float]:
    """CPU microseconds a chunk of the floor, and how many times as much newel takes: medians of the rounds."""
    service, store = InMemorySessionService(), floor.MemoryStore()
    runner = Runner(app_name="app", agent=Agent(name="a", model=model), session_service=service)
    least = floor.Runner("app", floor.LlmAgent("a", floor.Mock("stream", n=CHUNKS), floor.SYSTEM), store)
    sse = RunConfig(streaming_mode=StreamingMode.SSE)
    times: list[float] = []
    ratios: list[float] = []
    for number in range(ROUNDS + 1):
        here = await store.create("app", "u")
        session = await service.create_session(app_name="app", user_id="u")
        own = runner.run_async(user_id="u", session_id=session.id, new_message="Hello.", run_config=sse)
        floors, owns = await _timed(least.run("u", here.id, "Hello.", stream=True)), await _timed(own)
        if number:  # the first one is warm-up
            times.append(floors)
            ratios.append(owns / floors)
    return median(times), median(ratios)


async def _timed(events: AsyncIterator[Any]) -> float:
    gc.collect()
    started, count = time.process_time(), 0
    async for _event in events:
        count += 1
    taken = (time.process_time() - started) / CHUNKS * 1e6
    assert count == CHUNKS + 1, count
    return taken


def _contents(count: int) -> list[Content]:
    roles = ("user", "model")
    return [freeze(Content(role=roles[n % 2], parts=[Part(text=f"Message {n}.")])) for n in range(count)]


async def _history(model: BaseLlm) -> tuple[float, float]:
    """CPU microseconds of a new turn's request after 10 and after 1,000 contents, until the SDK has it."""
    found = []
    for count in (10, 1000):
        contents, times = _contents(count), []
        for turn in range(ROUNDS * 10):
            contents.append(freeze(Content(role="user", parts=[Part(text=f"Turn {turn}")])))
            request = LlmRequest(model=model.model, contents=SharedContents(contents))
            gc.disable()
            started = time.process_time()
            responses = model.generate_content_async(request, stream=True)
            await anext(responses)
            times.append((time.process_time() - started) * 1e6)
            gc.enable()
            await responses.aclose()
            contents.append(freeze(Content(role="model", parts=[Part(text="Yes.")])))
        found.append(median(times[5:]))
    return found[0], found[1]


def main(arguments: list[str]) -> None:
    kinds = [one for one in arguments if one in ("stream", "history")] or ["stream", "history"]
    names = [one for one in arguments if one in PROVIDERS]
    if not names:  # a process each: they cut out parts of the same modules
        for name in PROVIDERS:
            subprocess.run([sys.executable, __file__, *kinds, name], check=True)
        return
    for name in names:
        if "stream" in kinds:
            least, ratio = asyncio.run(_stream(PROVIDERS[name]()))
            print(f"{name:18} stream   {least * ratio:8.2f} us a chunk, floor {least:.2f}: {ratio:.2f}x", flush=True)
        if "history" in kinds:
            ten, thousand = asyncio.run(_history(PROVIDERS[name]()))
            ratio = thousand / ten
            print(f"{name:18} history  {ten:8.0f} us of 10, {thousand:.0f} us of 1,000: {ratio:.2f}x", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
