"""Agents whose models are OpenAI's: turns with tools, and what histories cost."""

from __future__ import annotations

from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.agents.context_cache_config import ContextCacheConfig
from newel.apps import App
from newel.models.openai import OpenAILlm, OpenAIResponsesLlm
from newel.models.openai.chat.messages import Messages
from newel.models.openai.profiles import OPENAI
from newel.models.wire.conversions import Conversions
from newel.models.wire.names import Names
from newel.testing import Conversation
from newel_kernel import ModelError
from newel_testkit.wire import WireServer, fault
from newel_testkit.wire.answers import Answer, call, text, thought
from newel_testkit.wire.caller import model, user
from newel_types import Content, freeze

EVERY = pytest.mark.parametrize("kind", [OpenAILlm, OpenAIResponsesLlm])
CALLS = Answer(
    parts=(
        thought("Both cities."),
        text("I look."),
        call("weather", {"city": "Rome", "days": None}, "1"),
        call("weather", {"city": "Oslo", "days": 2}, "2"),
    ),
    stop="tool",
)


def weather(city: str, days: int = 1) -> dict[str, Any]:
    """The weather of a city."""
    return {"sky": f"{city} is clear for {days} days"}


@EVERY
def test_an_agent_calls_tools_in_parallel(kind: Any, server: WireServer) -> None:
    server.script(CALLS, Answer(parts=(text("Clear."),)))
    agent = LlmAgent(name="guide", model=kind(model="gpt-5"), tools=[weather], instruction="Help.")

    turn = Conversation(agent).say("How is it?")
    assert turn.text == "Clear."
    last = str(server.bodies[-1])
    assert "Rome is clear for 1 days" in last
    assert "Oslo is clear for 2 days" in last
    assert [request.refused for request in server.log] == [None, None]


@EVERY
def test_arguments_that_are_no_object_can_be_corrected(kind: Any, server: WireServer) -> None:
    broken = Answer(parts=(call("weather", {}, "1"),), stop="tool", raw_args='{"city": ')
    server.script(broken, Answer(parts=(text("Sorry."),)))
    agent = LlmAgent(name="guide", model=kind(model="gpt-5"), tools=[weather])

    Conversation(agent).say("How is it?")
    assert all(request.refused is None for request in server.log)


@EVERY
def test_a_session_goes_on_after_a_failure(kind: Any, server: WireServer) -> None:
    agent = LlmAgent(name="guide", model=kind(model="gpt-5"))

    conversation = Conversation(agent)
    server.script(fault("400"))
    with pytest.raises(ModelError, match="400"):
        conversation.say("One")
    server.script(Answer(parts=(text("Fine."),)))
    assert conversation.say("Two").text == "Fine."
    assert server.log[-1].refused is None


@EVERY
def test_prompts_of_one_app_user_and_agent_share_a_cache_key(kind: Any, server: WireServer) -> None:
    server.script(Answer(parts=(text("Fine."),)))
    agent = LlmAgent(name="guide", model=kind(model="gpt-5"))
    cached = App(name="tours", root_agent=agent, context_cache_config=ContextCacheConfig())
    keys = []
    for node, user_id in ((cached, "ann"), (cached, "ann"), (cached, "bob"), (agent, "ann")):
        Conversation(node, user_id=user_id).say("Hi")
        keys.append(server.bodies[-1].get("prompt_cache_key"))
    first, again, other, none = keys
    assert first == again != other
    assert none is None
    assert "ann" not in first


def history(count: int) -> list[Content]:
    return [freeze(user(f"Question {n}") if n % 2 == 0 else model(f"Answer {n}")) for n in range(count)]


def test_a_turn_converts_what_is_new_only() -> None:
    """Counted, not timed: each content of a history is converted once."""
    seen: list[Content] = []

    class Counting(Messages):
        def add(self, content: Content) -> None:
            seen.append(content)
            super().add(content)

    conversions: Conversions[Counting] = Conversions()
    names = Names()

    def make() -> Counting:
        return Counting("openai", OPENAI, frozenset(), names, lambda *_: None)

    contents = history(1_000)
    first = conversions.of(contents, make).whole()
    contents += [freeze(user("New"))]
    second = conversions.of(contents, make).whole()
    assert len(seen) == 1_001
    assert second[:-1] == first
    assert all(before is after for before, after in zip(first, second, strict=False))
