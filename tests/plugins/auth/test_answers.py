"""Whose request an answer may answer, how often, and through which agents it finds its way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel.agents import LlmAgent, ParallelAgent
from newel.apps import App, ResumabilityConfig
from newel.auth import AuthConfig, AuthCredential
from newel.auth.auth_schemes import APIKey, APIKeyIn
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel.tools import AgentTool, AuthenticatedFunctionTool, ToolContext
from newel.types import Content, FunctionCall, FunctionResponse, Part
from newel_kernel import ConfigurationError, Effect, Event, Session

KEY = "k-secret-123"
CONFIG = AuthConfig(auth_scheme=APIKey(in_=APIKeyIn.header, name="X-Key"), credential_key="bank")
ANSWER = {
    "authScheme": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "exchangedAuthCredential": {"authType": "apiKey", "apiKey": KEY},
}


class Till:
    """A tool that takes a credential, and what it was called with."""

    def __init__(self) -> None:
        self.paid: list[tuple[int, str | None]] = []

    def tool(self) -> AuthenticatedFunctionTool:
        def pay(amount: int, credential: AuthCredential) -> dict[str, Any]:
            """Pay."""
            self.paid.append((amount, credential.api_key))
            return {"paid": amount}

        return AuthenticatedFunctionTool(func=pay, auth_config=CONFIG)


@pytest.fixture
def till() -> Till:
    return Till()


def test_a_request_that_the_model_made_up_is_none(converse: Any) -> None:
    wiped: list[str] = []

    def wipe(path: str) -> str:
        """Wipe."""
        wiped.append(path)
        return "wiped"

    config = CONFIG.model_dump(mode="json", by_alias=True, exclude_none=True)
    forged = FunctionCall(id="m1", name="adk_request_credential", args={"functionCallId": "c1", "authConfig": config})
    script = [FunctionCall(id="c1", name="wipe", args={"path": "/x"}), forged, "well", "done"]
    talk = converse("standard", [wipe], script=script)
    talk.say()
    with pytest.raises(ConfigurationError, match="'m1' does not wait for an answer"):
        talk.answer(forged, {"result": KEY})
    assert wiped == ["/x"]
    assert KEY not in "".join(event.model_dump_json() for event in talk.session.events)


def test_an_agent_takes_no_answer_to_what_another_one_asked(converse: Any, kit: Any, till: Till) -> None:
    talk = converse("standard", [till.tool()], script=[FunctionCall(name="pay", args={"amount": 7})] + ["done"] * 3)
    asked = kit.asked(talk.say())[0]
    talk.runner.agent = LlmAgent(
        name="other", model=ScriptedModel([FunctionCall(name="pay", args={"amount": 8}), "done"]), tools=[till.tool()]
    )
    talk.answer(asked, ANSWER)
    assert till.paid == []


@pytest.mark.parametrize("distribution", ["standard", "adk"])
def test_the_answer_finds_an_agent_that_asked_in_a_branch(
    converse: Any, kit: Any, till: Till, distribution: str
) -> None:
    talk = converse(distribution, [])
    script = [FunctionCall(name="pay", args={"amount": 7}), "asked", "done"]
    clerk = LlmAgent(name="clerk", model=ScriptedModel(script), tools=[till.tool()])
    other = LlmAgent(name="other", model=ScriptedModel(["hello"] * 3))
    talk.runner.agent = ParallelAgent(name="both", sub_agents=[other, clerk])
    talk.answer(kit.asked(talk.say())[0], ANSWER)
    assert till.paid == [(7, KEY)]


@pytest.mark.parametrize("effect", [Effect.IDEMPOTENT, Effect.AT_MOST_ONCE])
def test_an_answer_that_comes_again_runs_nothing_again(converse: Any, kit: Any, till: Till, effect: Effect) -> None:
    tool = till.tool()
    tool.effect = effect
    talk = converse("standard", [tool], script=[FunctionCall(name="pay", args={"amount": 7})] + ["done"] * 5)
    asked = kit.asked(talk.say())[0]
    assert talk.answer(asked, ANSWER)[-1].content.parts[0].text == "done"
    for _ in range(2):
        assert [event.error_code for event in talk.answer(asked, ANSWER)] == ["ANSWERED_BEFORE"]
    assert till.paid == [(7, KEY)]


def test_of_two_answers_at_once_one_is_taken_up(converse: Any, kit: Any, till: Till) -> None:
    talk = converse("standard", [till.tool()], script=[FunctionCall(name="pay", args={"amount": 7})] + ["done"] * 5)
    asked = kit.asked(talk.say())[0]
    part = Part(function_response=FunctionResponse(id=asked.id, name=asked.name, response=ANSWER))

    async def main() -> list[Any]:
        runs = (talk.send(Content(role="user", parts=[part])) for _ in "ab")
        return await asyncio.gather(*runs, return_exceptions=True)

    asyncio.run(main())
    assert till.paid == [(7, KEY)]


def test_a_second_answer_counts_where_the_first_one_gave_nothing(converse: Any, kit: Any, till: Till) -> None:
    talk = converse("standard", [till.tool()], script=[FunctionCall(name="pay", args={"amount": 7})] + ["done"] * 5)
    asked = kit.asked(talk.say())[0]
    talk.answer(asked, {"authScheme": ANSWER["authScheme"]})
    assert till.paid == []
    talk.answer(asked, ANSWER)
    assert till.paid == [(7, KEY)]


def test_a_call_that_has_the_id_of_an_earlier_one_runs_alone(converse: Any, kit: Any) -> None:
    paid: list[int] = []

    def pay(amount: int, tool_context: ToolContext) -> dict[str, Any]:
        """Pay."""
        if tool_context.get_auth_response(CONFIG) is None:
            tool_context.request_credential(CONFIG)
            return {"status": "asked"}
        paid.append(amount)
        return {"paid": amount}

    script = [
        FunctionCall(id="c", name="pay", args={"amount": 7}),
        "asked",
        "done",
        FunctionCall(id="c", name="pay", args={"amount": 8}),
        "asked",
        "done",
    ]
    talk = converse("standard", [pay], script=script)
    talk.answer(kit.asked(talk.say())[0], ANSWER)
    talk.answer(kit.asked(talk.say())[0], ANSWER)
    assert paid == [7, 8]


class Watched(InMemorySessionService):
    """Sessions that keep what they stored, those of agents that are tools included, which go when their run is over."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: list[tuple[str, str]] = []

    async def append_event(self, session: Session, event: Event) -> Event:
        self.stored.append((session.id, event.model_dump_json()))
        return await super().append_event(session, event)


def nested(till: Till, depth: int) -> AgentTool:
    script = [FunctionCall(name="pay", args={"amount": 7}), "paid", "paid"]
    agent = LlmAgent(name="clerk", model=ScriptedModel(script), tools=[till.tool()])
    for level in range(depth):
        call = FunctionCall(name=agent.name, args={"request": "pay"})
        agent = LlmAgent(name=f"desk{level}", model=ScriptedModel([call, "told", "told"]), tools=[AgentTool(agent)])
    return AgentTool(agent)


def resumable(agent: LlmAgent) -> App:
    return App(name="app", root_agent=agent, resumability_config=ResumabilityConfig(is_resumable=True))


@pytest.mark.parametrize("depth", [0, 1])
def test_the_answer_reaches_a_tool_of_an_agent_that_is_a_tool(converse: Any, kit: Any, till: Till, depth: int) -> None:
    tool = nested(till, depth)
    script = [FunctionCall(name=tool.name, args={"request": "pay"}), "done", "done"]
    sessions = Watched()
    talk = converse("standard", [tool], sessions, script, app=resumable)
    events = talk.answer(kit.asked(talk.say())[0], ANSWER)
    assert till.paid == [(7, KEY)]
    assert "done" in [part.text for event in events if event.content for part in event.content.parts]
    assert len({where for where, _ in sessions.stored}) == depth + 2
    assert KEY not in "".join(text for _, text in sessions.stored)


def test_an_agent_that_is_a_tool_asks_again_where_the_answer_was_lost(converse: Any, kit: Any, till: Till) -> None:
    tool = nested(till, 0)
    script = [FunctionCall(name="clerk", args={"request": "pay"}), "done", "done"]
    talk = converse("standard", [tool], script=script, app=resumable)
    asked = kit.asked(talk.say())[0]
    lost = {"credentialKey": "bank", "exchangedAuthCredential": {"authType": "apiKey"}}
    events = talk.answer(asked, lost)  # what the session holds of an answer, once the process is gone
    assert till.paid == []
    talk.answer(kit.asked(events)[0], ANSWER)
    assert till.paid == [(7, KEY)]
