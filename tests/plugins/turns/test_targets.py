"""A model transfers only where its agent may, whatever name it gives; generated over trees, fields and names."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from newel.agents import BaseAgent, LlmAgent, SequentialAgent
from newel.testing import Conversation, ScriptedModel
from newel.tools import TransferToAgentTool, transfer_to_agent
from newel.turns.transfers import transfer_targets
from newel_kernel import ToolContext, subtree

STAYED = "I stayed"


def leaf(name: str, random: Random, below: list[BaseAgent]) -> BaseAgent:
    if below and random.random() < 0.15:
        return SequentialAgent(name=name, sub_agents=below)
    return LlmAgent(
        name=name,
        model=ScriptedModel([f"I am {name}"] * 3),
        sub_agents=below,
        disallow_transfer_to_parent=random.random() < 0.4,
        disallow_transfer_to_peers=random.random() < 0.4,
        mode=random.choice([None, None, None, "single_turn"]) if name != "root" and not below else None,
    )


def tree(random: Random) -> LlmAgent:
    """A root with two children, each of which has up to two."""
    kids = [leaf(f"k{i}", random, [leaf(f"g{i}{j}", random, []) for j in range(random.randrange(3))]) for i in (1, 2)]
    return LlmAgent(name="root", model="scripted", sub_agents=kids)


@pytest.mark.parametrize("seed", range(60))
def test_a_name_that_is_no_target_leads_nowhere(seed: int) -> None:
    random = Random(seed)
    root = tree(random)
    names = [agent.name for agent in subtree(root)]
    # The one that is asked: the root, or a child that the root hands over to.
    way = [agent for agent in transfer_targets(root) if isinstance(agent, LlmAgent)]
    mover = random.choice([root, *way])
    name = random.choice([*names, "nobody", ""])
    allowed = [agent.name for agent in transfer_targets(mover)]
    answers: list[Any] = [{"call": "transfer_to_agent", "args": {"agent_name": name}}, STAYED, STAYED]
    mover.model = ScriptedModel(answers)
    if mover is not root:
        root.model = ScriptedModel([{"call": "transfer_to_agent", "args": {"agent_name": mover.name}}, *[STAYED] * 3])
    if mover.disallow_transfer_to_parent and mover.disallow_transfer_to_peers and not mover.sub_agents:
        mover.tools = [transfer_to_agent]  # nothing offers the tool
    told = Conversation(root).say("go")
    moved = any(
        event.actions.transfer_to_agent == name and event.author == mover.name
        for event in told
        if event.touched_actions is not None
    )
    assert moved == (name in allowed)
    results = [r.response for e in told if e.author == mover.name for r in e.get_function_responses()]
    if not moved:
        assert "error" in results[-1]
        assert all(target in results[-1]["error"] for target in allowed)
        assert told.text == STAYED


def test_adk_transfers_to_every_agent_of_the_tree() -> None:
    grand = LlmAgent(name="grand", model=ScriptedModel(["I am grand"]))
    kid = LlmAgent(name="kid", model=ScriptedModel([]), sub_agents=[grand])
    call = {"call": "transfer_to_agent", "args": {"agent_name": "grand"}}
    root = LlmAgent(name="root", model=ScriptedModel([call]), sub_agents=[kid])
    assert Conversation(root, distribution="adk").say("go").text == "I am grand"


def test_an_app_s_own_tool_transfers_to_every_agent_of_the_tree() -> None:
    """Which agent goes on is the code's choice there, not the model's."""

    def escalate_to_person(tool_context: ToolContext) -> str:
        """Hand over to a person."""
        tool_context.actions.transfer_to_agent = "grand"
        return "handed over"

    grand = LlmAgent(name="grand", model=ScriptedModel(["I am grand"]))
    kid = LlmAgent(name="kid", model=ScriptedModel([]), sub_agents=[grand])
    model = ScriptedModel([{"call": "escalate_to_person"}])
    root = LlmAgent(name="root", model=model, sub_agents=[kid], tools=[escalate_to_person])
    assert Conversation(root).say("go").text == "I am grand"


@pytest.mark.parametrize(("name", "text"), [("grand", "I am grand"), ("kid", STAYED)])
def test_the_targets_that_a_tool_of_the_app_declares_bind_it(name: str, text: str) -> None:
    grand = LlmAgent(name="grand", model=ScriptedModel(["I am grand"]))
    kid = LlmAgent(name="kid", model=ScriptedModel(["I am kid"]), sub_agents=[grand])
    peer = LlmAgent(
        name="peer",
        model=ScriptedModel([{"call": "transfer_to_agent", "args": {"agent_name": name}}, STAYED]),
        tools=[TransferToAgentTool(agent_names=["grand"])],
        disallow_transfer_to_parent=True,
        disallow_transfer_to_peers=True,
    )
    model = ScriptedModel([{"call": "transfer_to_agent", "args": {"agent_name": "peer"}}])
    root = LlmAgent(name="root", model=model, sub_agents=[kid, peer])
    assert Conversation(root).say("go").text == text
