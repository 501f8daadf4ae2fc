"""The plugin in a run: what the model sees, and what the session keeps."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import newel_redact
from newel.agents import LlmAgent
from newel.models.scripted import ScriptedModel
from newel.plugins import BasePlugin
from newel.runners import Runner
from newel_compose import Composition, compose
from newel_kernel import BaseTool, Event, ToolContext
from newel_redact import plugin
from newel_types import FrozenContent, FunctionCall

ADDRESS = "ann@example.com"
KEY = "sk-proj-Ab12Cd34Ef56Gh78Ij90"


class Talk:
    """A session with an agent and the plugin."""

    def __init__(self, agent: LlmAgent, composition: Composition, plugins: list[Any] | None = None) -> None:
        self.runner = Runner(
            app_name="t", agent=agent, composition=composition, plugins=plugins, auto_create_session=True
        )

    def say(self, text: str) -> list[Event]:
        async def run() -> list[Event]:
            return [e async for e in self.runner.run_async(user_id="u", session_id="s", new_message=text)]

        return asyncio.run(run())

    @property
    def stored(self) -> str:
        """The session's contents as JSON."""
        service = self.runner.session_service
        session = asyncio.run(service.get_session(app_name="t", user_id="u", session_id="s"))
        assert session is not None
        return json.dumps([e.content.model_dump(mode="json") for e in session.events if e.content is not None])


def composed(**settings: Any) -> Composition:
    """`adk` and the plugin, with its settings; a distribution could only set those of an installed plugin."""
    composition = compose("adk", plugins=[plugin])
    return replace(composition, settings={**composition.settings, "redact": plugin.Settings(**settings)})


def asked(model: ScriptedModel, index: int = -1) -> str:
    """A request's contents and instruction, as JSON."""
    request = model.requests[index]
    return json.dumps(request.model_dump(mode="json", exclude_none=True), default=str)


def test_its_place_is_right_after_contents() -> None:
    composition = compose("standard", plugins=[plugin])
    names = [processor.name for processor in composition.request_chain]
    assert names[names.index("contents") + 1] == "redact"
    assert next(p for p in composition.placed["request_chain"] if p.plugin == "redact").why == "after contents"


def test_the_model_sees_masks_and_the_session_keeps_the_words() -> None:
    model = ScriptedModel(["noted", "again"])
    talk = Talk(LlmAgent(name="a", model=model), composed())
    talk.say(f"I am {ADDRESS} and my key is {KEY}")
    assert "I am [email masked] and my key is [api key masked]" in asked(model)
    assert ADDRESS in talk.stored
    assert KEY in talk.stored
    talk.say("who am I?")
    assert ADDRESS not in asked(model)
    assert "I am [email masked]" in asked(model)


def test_calls_and_results_of_tools() -> None:
    received: list[str] = []

    def look_up(address: str) -> dict[str, Any]:
        """Looks up a person."""
        received.append(address)
        return {"person": {"emails": [ADDRESS], "keys": {"main": KEY}}}

    model = ScriptedModel([FunctionCall(name="look_up", args={"address": ADDRESS}), "done"])
    talk = Talk(LlmAgent(name="a", model=model, tools=[look_up]), composed())
    talk.say("look her up")
    assert received == [ADDRESS]
    assert ADDRESS not in asked(model)
    assert KEY not in asked(model)
    assert asked(model).count("[email masked]") == 2
    assert KEY in talk.stored


def test_the_system_instruction_is_masked_unless_told_otherwise() -> None:
    for chosen, expected in ((None, "Write to [email masked]."), (False, f"Write to {ADDRESS}.")):
        model = ScriptedModel(["ok"])
        settings = {} if chosen is None else {"system_instruction": chosen}
        Talk(LlmAgent(name="a", model=model, instruction=f"Write to {ADDRESS}."), composed(**settings)).say("hi")
        assert str(model.requests[0].config.system_instruction).startswith(expected)


def test_kinds_and_replacement_are_settings() -> None:
    model = ScriptedModel(["ok"])
    Talk(LlmAgent(name="a", model=model), composed(kinds=("email",), replacement="#{kind}#")).say(f"{ADDRESS} {KEY}")
    assert f"#email# {KEY}" in asked(model)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"kinds": ["phone"]}, "'email', 'api_key'"),
        ({"replacment": "x"}, "Extra inputs"),
        ({"replacement": "nobody@example.com"}, "looks like a value"),
        ({"replacement": "masked-{kind}-0123"}, "looks like a value"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        plugin.Settings.model_validate(settings)


def test_what_tools_and_callbacks_add_later_is_masked_too() -> None:
    class Memory(BaseTool):
        async def process_llm_request(self, *, tool_context: Any, llm_request: Any) -> None:
            llm_request.append_instructions([f"She is {ADDRESS}."])
            llm_request.contents[-1].parts[0].text += f" (her key is {KEY})"

    async def add(callback_context: Any, llm_request: Any) -> None:
        llm_request.contents[-1].parts[0].text += f" cc {ADDRESS}"

    model = ScriptedModel(["ok"])
    tool = Memory(name="memory", description="Remembers.")
    Talk(LlmAgent(name="a", model=model, tools=[tool], before_model_callback=add), composed()).say("hi")
    assert "She is [email masked]." in asked(model)
    assert "hi (her key is [api key masked]) cc [email masked]" in asked(model)


def test_counts_ride_on_events_and_can_be_asked_for() -> None:
    counted: list[dict[str, int]] = []

    def ask(tool_context: ToolContext) -> str:
        """Asks."""
        counted.append(newel_redact.masked(tool_context.get_invocation_context()))
        return "bob@example.com"

    model = ScriptedModel([FunctionCall(name="ask", args={}), "done", "nothing new"])
    talk = Talk(LlmAgent(name="a", model=model, tools=[ask]), composed())
    first = talk.say(f"{ADDRESS}, {ADDRESS} and {KEY}")
    assert counted == [{"api_key": 1, "email": 1}]
    noted = [(event.custom_metadata or {}).get("redact") for event in first]
    assert noted == [{"api_key": 1, "email": 1}, {"api_key": 1, "email": 1}, {"api_key": 1, "email": 2}]
    (last,) = talk.say("and?")
    assert (last.custom_metadata or {})["redact"] == {"api_key": 1, "email": 2}


def test_nothing_masked_leaves_no_trace() -> None:
    model = ScriptedModel(["ok"])
    (event,) = Talk(LlmAgent(name="a", model=model), composed()).say("hi")
    assert event.custom_metadata is None


def test_other_plugins_still_see_the_events() -> None:
    stored_events: list[Event] = []

    class Watch(BasePlugin):
        async def on_event_callback(self, *, invocation_context: Any, event: Event) -> None:
            stored_events.append(event)

    model = ScriptedModel(["ok"])
    watch = Watch(name="watch")
    composition = compose("adk", plugins=[plugin, watch])
    Talk(LlmAgent(name="a", model=model), composition).say(ADDRESS)
    assert [event.custom_metadata for event in stored_events] == [{"redact": {"email": 1}}]


def test_an_unaffected_history_is_not_copied_and_not_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: list[list[bool]] = []
    looked: list[Any] = []
    content: Callable[..., Any] = plugin.Masker.content
    monkeypatch.setattr(plugin.Masker, "content", lambda *args: looked.append(args[1]) or content(*args))

    async def watch(callback_context: Any, llm_request: Any) -> None:
        kinds.append([c.__class__ is FrozenContent for c in llm_request.contents.frozen()])

    model = ScriptedModel(["one", "two", "three"])
    talk = Talk(LlmAgent(name="a", model=model, before_model_callback=watch), composed())
    for text in ("hi", f"I am {ADDRESS}", "bye"):
        talk.say(text)
    assert kinds == [[True], [True, True, False], [True, True, False, True, True]]
    clean = [c for c in looked if c.__class__ is FrozenContent and ADDRESS not in repr(c)]
    assert len(clean) == len({id(c) for c in clean}) == 4
