"""The contract of turns: what holds where no plugin says better, and that a plugin's policy is asked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel import Agent, App
from newel.apps import ResumabilityConfig
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel_compose import Composition, compose
from newel_kernel import (
    BaseAgent,
    ConfigurationError,
    Event,
    EventActions,
    InvocationContext,
    Turn,
    TurnPolicy,
    hookimpl,
)
from newel_types import Content, FunctionCall, FunctionResponse, Part


def first_child(ctx: InvocationContext) -> BaseAgent:
    return ctx.agent.sub_agents[0]


def twice(ctx: InvocationContext, turn: Turn) -> list[Event]:
    return [*TurnPolicy().messages(ctx, turn), *TurnPolicy().messages(ctx, turn)]


class Ushers:
    name = "ushers"

    @hookimpl
    def register_turn_policies(self) -> list[TurnPolicy]:
        return [TurnPolicy(agent=first_child, messages=twice)]


class Resuming:
    """Takes every run for one that was interrupted, and has a result for what that left open."""

    name = "resuming"

    def __init__(self, words: str = "", final: bool = False) -> None:
        self.log: list[Any] = []
        self.words, self.final = words, final

    @hookimpl
    def register_turn_policies(self) -> list[TurnPolicy]:
        def enter(ctx: InvocationContext, turn: Turn, invocation_id: str | None) -> None:
            ctx.resumed = True

        async def interrupted(ctx: InvocationContext, tools: Any) -> list[Event]:
            self.log.append((ctx.agent.name, list(tools)))
            actions = EventActions(skip_summarization=True) if self.final else None
            call = Part(function_call=FunctionCall(id="c1", name="brew"))
            result = Part(function_response=FunctionResponse(id="c1", name="brew", response={"result": self.words}))
            return (
                [
                    Event(ctx.invocation_id, "root", Content(role="model", parts=[call])),
                    Event(ctx.invocation_id, "root", Content(role="user", parts=[result]), actions=actions),
                ]
                if self.words
                else []
            )

        return [TurnPolicy(enter=enter, interrupted=interrupted)]


def brew() -> str:
    """Brews tea."""
    return "tea"


def tree() -> Agent:
    return Agent(name="root", model="echo:", sub_agents=[Agent(name="child", model="echo:")])


def composed(tmp_path: Any, how: str, *plugins: Any) -> Composition:
    file = tmp_path / "mine.yaml"
    file.write_text(f"name: mine\nextends: minimal\n{how}\n", encoding="utf-8")
    return compose(file, plugins=list(plugins))


def without_turns(tmp_path: Any) -> Composition:
    return composed(tmp_path, "disable: [turns]")


def talk(composition: Composition, *messages: str, invocation_id: str | None = None) -> list[Event]:
    async def conversation() -> list[Event]:
        app = App(name="house", root_agent=tree(), resumability_config=ResumabilityConfig(is_resumable=True))
        service = InMemorySessionService()
        runner = Runner(app=app, composition=composition, session_service=service, auto_create_session=True)
        for message in messages:
            run = runner.run_async(user_id="u", session_id="s", new_message=message, invocation_id=invocation_id)
            assert [event async for event in run]
        session = await service.get_session(app_name="house", user_id="u", session_id="s")
        assert session is not None
        return session.events

    return asyncio.run(conversation())


def authors(events: list[Event]) -> list[str]:
    return [event.author for event in events if event.content is not None]


def test_without_a_policy_the_root_answers_every_message_in_a_new_invocation(tmp_path: Any) -> None:
    events = talk(without_turns(tmp_path), "one", "two")
    assert authors(events) == ["user", "root", "user", "root"]
    assert len({event.invocation_id for event in events}) == 2


def test_without_a_policy_nothing_is_resumed(tmp_path: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"'e-1' cannot be resumed: .* enable the plugin 'turns'"):
        talk(without_turns(tmp_path), "one", invocation_id="e-1")


@pytest.mark.parametrize("how", ["disable: [turns]", "replace: {turns: ushers}"])
def test_a_plugin_s_policy_is_asked(tmp_path: Any, how: str) -> None:
    assert authors(talk(composed(tmp_path, how, Ushers()), "one")) == ["user", "user", "child"]


@pytest.mark.parametrize(
    ("resuming", "answers", "events"),
    [
        (Resuming(), ["done"], ["done"]),
        (Resuming("a pot"), ["done"], ["call", "a pot", "done"]),
        (Resuming("a pot", final=True), [], ["call", "a pot"]),
    ],
    ids=["nothing", "a result", "a result that ends the turn"],
)
def test_what_an_interrupted_run_left_open_comes_once_and_before_the_model(
    tmp_path: Any, talk: Any, resuming: Resuming, answers: list[str], events: list[str]
) -> None:
    agent = Agent(name="root", model=ScriptedModel(answers), tools=[brew])
    conversation = talk(agent, composition=composed(tmp_path, "replace: {turns: resuming}", resuming))
    parts = [event.content.parts[0] for event in conversation.say("go")]
    results = [part.function_response and part.function_response.response["result"] for part in parts]
    assert [part.text or result or "call" for part, result in zip(parts, results, strict=True)] == events
    assert resuming.log == [("root", ["brew"])]
    assert len(agent.model.requests) == len(answers)  # type: ignore[union-attr]


@pytest.mark.parametrize("distribution", ["minimal", "adk", "standard"])
def test_the_built_in_distributions_have_one(distribution: str) -> None:
    assert compose(distribution).turns.agent.__module__ == "newel.turns.resumption"
