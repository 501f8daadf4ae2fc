"""`state_delta` is stored with every run, whatever its message is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel import Agent, App
from newel.agents import BaseAgent, LoopAgent, SequentialAgent
from newel.apps import ResumabilityConfig
from newel.sessions import InMemorySessionService
from newel.testing import Conversation, ScriptedModel
from newel.tools import LongRunningFunctionTool
from newel.types import Content, FunctionResponse, Part
from newel.workflow import Workflow, node

DELTA = {"v": "X", "user:w": [1]}
RESULT = {"v": "X", "user:w": [1]}


def submit() -> None:
    """Submit a job."""


def asking(name: str) -> Agent:
    model = ScriptedModel([{"call": "submit"}, "done", "more"])
    return Agent(name=name, model=model, instruction="v={v?}", tools=[LongRunningFunctionTool(submit)])


def root(kind: str) -> BaseAgent:
    agent = asking("a")
    if kind == "agent":
        return agent
    if kind == "sequence":
        return SequentialAgent(name="s", sub_agents=[agent, Agent(name="b", model=ScriptedModel(["end", "end"]))])
    if kind == "loop":
        return LoopAgent(name="l", sub_agents=[agent], max_iterations=1)
    if kind == "transfer":
        call = {"call": "transfer_to_agent", "args": {"agent_name": "a"}}
        return Agent(name="r", model=ScriptedModel([call]), sub_agents=[agent])
    return Workflow(name="w", edges=[("START", node(lambda: "x", name="x"), agent)])


@pytest.mark.parametrize("distribution", ["standard", "adk"])
@pytest.mark.parametrize("kind", ["agent", "sequence", "loop", "transfer", "graph"])
@pytest.mark.parametrize("how", ["message", "resumed", "answer"])
def test_it_is_stored_and_changes_nothing_else(kind: str, how: str, distribution: str) -> None:
    """Beside the same conversation without it: the same events, and models that are asked the same."""

    def converse(delta: Any) -> tuple[Any, list[str]]:
        chat = Conversation(
            App(name="app", root_agent=root(kind), resumability_config=ResumabilityConfig(is_resumable=True)),
            distribution=distribution,
            session_service=InMemorySessionService(),
        )
        first = chat.say("go", state_delta=delta if how == "message" else None)
        if how != "message":
            response = FunctionResponse(id=first.questions[0].id, name="submit", response={"ok": True})
            if how == "answer":
                chat.say(Content(role="user", parts=[Part(function_response=response)]), state_delta=delta)
            else:
                asyncio.run(chat.send(None, invocation_id=first[-1].invocation_id, state_delta=delta))
        stored = asyncio.run(chat.stored())
        words = [
            f"{event.author}: {part.text or part.function_call}"
            for event in stored.events
            for part in (event.content.parts or [] if event.content is not None else [])
        ]
        return stored, [word.partition(" id=")[0].partition("(id=")[0] for word in words]

    stored, words = converse(DELTA)
    assert {key: stored.state[key] for key in RESULT} == RESULT
    assert words == converse(None)[1]


def test_the_model_sees_it_in_the_run_that_brought_it() -> None:
    agent = asking("a")
    chat = Conversation(
        App(name="app", root_agent=agent, resumability_config=ResumabilityConfig(is_resumable=True)),
        session_service=InMemorySessionService(),
    )
    first = chat.say("go")
    response = FunctionResponse(id=first.questions[0].id, name="submit", response={"ok": True})
    chat.say(Content(role="user", parts=[Part(function_response=response)]), state_delta=DELTA)
    model = agent.model
    assert isinstance(model, ScriptedModel)
    assert str(model.requests[-1].config.system_instruction).startswith("v=X")
