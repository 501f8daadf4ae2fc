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
from newel.workflow import START, Workflow
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
    for user_id in ("ann", "ann", "bob"):
        Conversation(cached, user_id=user_id).say("Hi")
        keys.append(server.bodies[-1].get("prompt_cache_key"))
    first, again, other = keys
    assert first == again != other
    assert "ann" not in first


@EVERY
def test_without_the_apps_word_each_agent_of_a_session_has_a_cache_key(kind: Any, server: WireServer) -> None:
    clerk = LlmAgent(name="clerk", model=kind(model="gpt-5"))
    guide = LlmAgent(name="guide", model=kind(model="gpt-5"), sub_agents=[clerk])
    transfer = Answer(parts=(call("transfer_to_agent", {"agent_name": "clerk"}, "1"),), stop="tool")
    server.script(transfer, Answer(parts=(text("Fine."),)))
    talk = Conversation(guide, user_id="ann")
    talk.say("Hi")
    talk.say("And you?")
    of_guide, of_clerk, again = (body["prompt_cache_key"] for body in server.bodies)
    server.script(Answer(parts=(text("Fine."),)))
    Conversation(guide, user_id="ann", session_id="another").say("Hi")
    elsewhere = server.bodies[-1]["prompt_cache_key"]

    assert of_clerk == again
    assert len({of_guide, of_clerk, elsewhere}) == 3
    assert "ann" not in of_guide


def test_a_key_is_sent_to_no_other_server(server: WireServer) -> None:
    server.script(Answer(parts=(text("Fine."),)))
    Conversation(
        LlmAgent(name="guide", model=OpenAILlm(model="m", endpoint="mine", base_url=server.base["compatible"]))
    ).say("Hi")
    assert "prompt_cache_key" not in server.bodies[-1]


def test_a_model_named_by_its_address_gets_a_key(server: WireServer) -> None:
    server.script(Answer(parts=(text("Fine."),)))
    Conversation(LlmAgent(name="guide", model="openai:gpt-4o")).say("Hi")
    assert server.bodies[-1]["prompt_cache_key"]


LONG = "Answer in one sentence, and be kind. " * 200


def breakpoints(body: Any) -> list[str]:
    return [
        message["role"]
        for message in body["messages"]
        for part in message["content"] or ()
        if isinstance(part, dict) and "prompt_cache_breakpoint" in part
    ]


def test_instructions_end_with_a_breakpoint(server: WireServer) -> None:
    server.script(CALLS, Answer(parts=(text("Clear."),)))
    talk = Conversation(
        LlmAgent(name="guide", model=OpenAILlm(model="gpt-6.1-terra"), tools=[weather], instruction=LONG)
    )
    talk.say("How is it?")
    talk.say("And tomorrow?")
    assert [request.refused for request in server.log] == [None] * 3
    assert [breakpoints(body) for body in server.bodies] == [["developer"]] * 3
    assert all("prompt_cache_options" not in body for body in server.bodies)
    first, second, third = (body["messages"] for body in server.bodies)
    assert second[: len(first)] == first
    assert third[: len(second)] == second


@pytest.mark.parametrize(("name", "instruction"), [("gpt-5.5", LONG), ("gpt-6.1-terra", "Be brief."), ("gpt-4o", LONG)])
def test_breakpoints_are_for_long_prompts_of_models_that_take_them(
    name: str, instruction: str, server: WireServer
) -> None:
    server.script(Answer(parts=(text("Fine."),)))
    Conversation(LlmAgent(name="guide", model=OpenAILlm(model=name), instruction=instruction)).say("Hi")
    assert breakpoints(server.bodies[-1]) == []
    assert "prompt_cache_options" not in server.bodies[-1]


def test_the_end_of_a_request_that_none_continues_is_not_written(server: WireServer) -> None:
    server.script(Answer(parts=(text("Fine."),)))
    writer = LlmAgent(name="writer", model=OpenAILlm(model="gpt-6.1-terra"), instruction=LONG)
    Conversation(Workflow(name="desk", edges=[(START, writer)])).say("Hi")
    assert server.bodies[-1]["prompt_cache_options"] == {"mode": "explicit"}
    assert breakpoints(server.bodies[-1]) == ["developer"]
    assert server.log[-1].refused is None


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
