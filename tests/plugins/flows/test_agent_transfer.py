"""Whom an agent may transfer to is worked out once, and anew when the tree around it changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from newel.agents import LlmAgent
from newel.testing import Conversation, ScriptedModel
from newel_kernel import Context, LlmRequest
from newel_types import FunctionCall, Part


def targets(request: LlmRequest) -> list[str]:
    """The agents that the request offers."""
    tool = request.tools_dict.get("transfer_to_agent")
    declaration = tool._get_declaration() if tool is not None else None
    return declaration.parameters_json_schema["properties"]["agent_name"]["enum"] if declaration is not None else []


def grow(root: LlmAgent, other: LlmAgent) -> None:
    root.sub_agents.append(other)
    other.parent_agent = root


def assign(root: LlmAgent, other: LlmAgent) -> None:
    root.sub_agents = [*root.sub_agents, other]
    other.parent_agent = root


@pytest.mark.parametrize("add", [grow, assign])
def test_an_agent_that_joins_between_two_turns_is_offered(add: Callable[[LlmAgent, LlmAgent], None]) -> None:
    model = ScriptedModel(["1", "2"])
    root = LlmAgent(name="root", model=model)
    chat = Conversation(root)
    chat.say("alone?")
    add(root, LlmAgent(name="late", description="Comes late.", model=model))
    chat.say("and now?")
    assert [targets(request) for request in model.requests] == [[], ["late"]]
    assert "Agent description: Comes late." in str(model.requests[1].config.system_instruction)


def test_a_peer_that_joins_in_place_is_offered_and_one_that_changes_is_described_anew() -> None:
    model = ScriptedModel([{"call": "transfer_to_agent", "args": {"agent_name": "first"}}, "1", "2", "3"])
    first = LlmAgent(name="first", model=model)
    root = LlmAgent(name="root", model=model, sub_agents=[first])
    chat = Conversation(root)
    chat.say("go there")
    grow(root, LlmAgent(name="second", model=model))
    chat.say("again")
    root.description = "Knows all."
    chat.say("and again")
    offered = [["first"], ["root"], ["root", "second"], ["root", "second"]]
    assert [targets(request) for request in model.requests] == offered
    last = str(model.requests[3].config.system_instruction)
    assert "Knows all." in last
    assert "Knows all." not in str(model.requests[2].config.system_instruction)


def test_state_that_a_target_notes_after_its_answer_does_not_ask_the_first_agent_again() -> None:
    def note(callback_context: Context) -> None:
        callback_context.state["seen"] = True

    target = LlmAgent(name="target", model=ScriptedModel(["the answer"]), after_agent_callback=note)
    call = Part(function_call=FunctionCall(name="transfer_to_agent", args={"agent_name": "target"}))
    model = ScriptedModel([call, "once more"])
    turn = Conversation(LlmAgent(name="root", model=model, sub_agents=[target])).say("go")
    assert [event.content.parts[0].text for event in turn if event.is_final_response()] == ["the answer"]
    assert turn[-1].actions.state_delta == {"seen": True}
    assert len(model.requests) == 1
