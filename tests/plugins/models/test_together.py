"""The providers side by side: the same events of the same script, and one session that goes from one to the next."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise, permutations
from typing import Any

import pytest
from pydantic import BaseModel

from newel import Agent
from newel.agents import RunConfig, StreamingMode
from newel.models import BaseLlm
from newel.models.anthropic_llm import AnthropicLlm
from newel.models.google_llm import Gemini
from newel.models.lite_llm import LiteLlm
from newel.models.llm_request import LlmRequest
from newel.models.openai import OpenAILlm, OpenAIResponsesLlm
from newel.plugins import BasePlugin
from newel.testing import Conversation
from newel_kernel import Event
from newel_testkit import WIRE_KEY, WireServer
from newel_testkit.wire import Answer
from newel_testkit.wire.answers import call, text, thought
from newel_testkit.wire.caller import result, tools, user
from newel_types import (
    Blob,
    Content,
    FunctionResponsePart,
    GenerateContentConfig,
    ThinkingConfig,
)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning")
PNG = b"\x89PNG\r\n\x1a\n" + b"picture"
THINKING = ThinkingConfig(thinking_budget=2048, include_thoughts=True)
MODELS: dict[str, Callable[[WireServer], BaseLlm]] = {
    "anthropic": lambda server: AnthropicLlm(model="claude-sonnet-4-5"),
    "openai": lambda server: OpenAILlm(model="gpt-5"),
    "openai-responses": lambda server: OpenAIResponsesLlm(model="gpt-5"),
    "litellm": lambda server: LiteLlm(
        model="anthropic/claude-sonnet-4-5", api_base=server.base["anthropic"], api_key=WIRE_KEY
    ),
    "gemini": lambda server: Gemini(model="gemini-3-pro-preview"),
}
LOOK = (call("weather", {"city": "Rome"}, "call_1"), call("look", {"at": "it"}, "call_2"))
CALLS = Answer(
    parts=(thought("Both are needed."), *LOOK),
    stop="tool",
    usage={"input": 20, "output": 30, "reasoning": 12},
)
END = Answer(parts=(text('{"city": "Rome", "degrees": 21}'),), usage={"input": 40, "output": 9})


class City(BaseModel):
    city: str
    degrees: int


def weather(city: str) -> dict[str, Any]:
    """The weather."""
    return {"city": city, "degrees": 21}


def look(at: str) -> dict[str, str]:
    """A picture."""
    return {"of": at}


class Pictures(BasePlugin):
    """Puts the picture into the result of `look`."""

    async def on_event_callback(self, *, invocation_context: Any, event: Event) -> Event | None:
        for response in event.get_function_responses():
            if response.name == "look":
                picture = FunctionResponsePart.model_validate({"inline_data": {"mime_type": "image/png", "data": PNG}})
                response.parts = [picture]
        return None


def shape(event: Event) -> Any:
    """An event without what is a provider's own: ids, signatures, words, prices, and counts of nothing."""
    dumped = event.model_dump(mode="json", exclude_none=True, exclude={"id", "timestamp", "invocation_id"})
    for part in (dumped.get("content") or {}).get("parts") or ():
        for name in ("thought_signature", "part_metadata"):
            part.pop(name, None)
        for name in ("function_call", "function_response"):
            part.get(name, {}).pop("id", None)
    for name in ("custom_metadata", "model_version", "long_running_tool_ids", "avg_logprobs"):
        dumped.pop(name, None)
    counts = dumped.pop("usage_metadata", {})
    dumped["counts"] = {name: count for name, count in counts.items() if count and name != "cost"}
    return {name: value for name, value in dumped.items() if value is not False}


def whole_texts(events: list[Event]) -> list[Any]:
    """The shapes; the chunks between two whole events joined, for each service cuts otherwise."""
    found: list[Any] = []
    shown = ["", ""]
    for event in events:
        if not event.partial:
            found.append((tuple(shown), shape(event)))
            shown = ["", ""]
            continue
        for part in (event.content.parts or ()) if event.content is not None else ():
            shown[bool(part.thought)] += part.text or ""
    return found


def run(server: WireServer, model: BaseLlm, stream: bool) -> list[Event]:
    server.script(CALLS, END)
    config = GenerateContentConfig(thinking_config=THINKING, max_output_tokens=8000)
    agent = Agent(
        name="guide",
        model=model,
        instruction="Be brief.",
        tools=[weather, look],
        output_schema=City,
        output_key="city",
        generate_content_config=config,
    )
    chat = Conversation(agent, plugins=[Pictures("pictures")])
    events = list(chat.say("Rome?", run_config=RunConfig(streaming_mode=StreamingMode.SSE if stream else None)))
    assert [request.refused for request in server.log] == [None, None]
    assert chat.session.state["city"] == {"city": "Rome", "degrees": 21}
    return events


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_one_script_gives_the_same_events_on_all_providers(wire_server: WireServer, stream: bool) -> None:
    found = {name: whole_texts(run(wire_server, make(wire_server), stream)) for name, make in MODELS.items()}
    first = found.pop("anthropic")
    assert len(first) == 3
    for name, events in found.items():
        assert events == first, name


class Journey:
    """One conversation that is led on by one provider after another; each turn has a step with tools."""

    def __init__(self, server: WireServer) -> None:
        self._server = server
        self._models = {name: make(server) for name, make in MODELS.items()}
        self.refused: list[str] = []
        self.turns = 0

    async def follow(self, contents: list[Content], left: tuple[str, ...], most: set[tuple[str, ...]]) -> None:
        """Try every order of the providers that are `left`; `most` are the orders to try."""
        for name in left:
            orders = {order[1:] for order in most if order[0] == name}
            if orders:
                rest = tuple(one for one in left if one != name)
                await self.follow(await self._turn(name, contents), rest, {order for order in orders if order})

    async def _turn(self, name: str, before: list[Content]) -> list[Content]:
        contents = [*before, user(f"Turn of {name}.")]
        self.turns += 1
        answered = await self._asked(name, contents, CALLS)
        ids = [part.function_call.id for part in answered.parts or () if part.function_call is not None]
        picture = FunctionResponsePart(inline_data=Blob(mime_type="image/png", data=PNG))
        results = user(result("weather", {"degrees": 21}, ids[0]), result("look", {"of": "it"}, ids[1], [picture]))
        contents += [answered, results]
        return [*contents, await self._asked(name, contents, END)]

    async def _asked(self, name: str, contents: list[Content], answer: Answer) -> Content:
        model = self._models[name]
        self._server.script(answer)
        config = GenerateContentConfig(tools=tools("weather", "look"), thinking_config=THINKING, max_output_tokens=8000)
        request = LlmRequest(model=model.model, contents=list(contents), config=config)
        responses = [response async for response in model.generate_content_async(request)]
        self.refused += [f"{name}: {one.refused}" for one in self._server.log if one.refused]
        content = responses[-1].content
        assert content is not None
        return content


def test_a_session_changes_provider_at_every_turn_in_every_order(wire_server: WireServer) -> None:
    orders = list(permutations(MODELS))
    chosen = orders if "NEWEL_EXAMPLES" in os.environ else orders[::7]
    pairs = {pair for order in chosen for pair in pairwise(order)}
    assert len(pairs) == 20  # whoever follows whom
    journey = Journey(wire_server)
    asyncio.run(journey.follow([], tuple(MODELS), set(chosen)))
    assert journey.refused == []
    assert journey.turns >= len(chosen)


_FIRST_CALLS = """
import asyncio, os, sys
from newel_compose import compose
from newel.models.kinds import model_of
from newel.models.llm_request import LlmRequest
from newel_testkit.wire import Answer, WireServer
from newel_types import Content, Part
composed = compose("standard")
SDKS = {"google.genai", "anthropic", "openai", "litellm", "httpx", "httpx2"}
assert not SDKS & set(sys.modules), "composing imports an SDK"
with WireServer() as server:
    os.environ.update({"ANTHROPIC_BASE_URL": server.base["anthropic"], "OPENAI_BASE_URL": server.base["openai"],
        "GOOGLE_GEMINI_BASE_URL": server.base["gemini"], "NO_PROXY": "127.0.0.1"})
    server.script(Answer(parts=({"text": "Hi."},)))
    async def ask(model):
        request = LlmRequest(model=model.model, contents=[Content(role="user", parts=[Part(text="Hi")])])
        async for _ in model.generate_content_async(request): pass
    mine = set()
    for address, own in (("anthropic:claude-sonnet-4-5", "anthropic"), ("openai:gpt-4o", "openai"),
                         ("gemini:gemini-2.5-flash", "google.genai")):
        asyncio.run(ask(model_of(composed, address)))
        assert server.log[-1].refused is None
        mine.add(own)
        assert mine <= set(sys.modules), own
        assert not ({"google.genai", "anthropic", "openai", "litellm"} - mine) & set(sys.modules), own
"""


def test_composing_imports_no_sdk_and_a_first_call_its_own_only() -> None:
    keys = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k", "GOOGLE_API_KEY": "k"}
    command = [sys.executable, "-c", _FIRST_CALLS]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **keys}, check=False)
    assert done.returncode == 0, done.stderr
