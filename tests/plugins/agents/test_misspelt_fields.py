"""A field of an agent, a node or an app that there is not: the error names one that is near."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from newel import Agent, App, Workflow
from newel.agents import LoopAgent, ParallelAgent, SequentialAgent
from newel.workflow import JoinNode
from newel_kernel import BaseAgent


class Mine(Agent):
    """An agent with a field of its own."""

    patience: int = 3


@pytest.mark.parametrize(
    ("kind", "fields", "says"),
    [
        (Agent, {"name": "a", "instrucion": "x"}, "there is no field 'instrucion'; did you mean 'instruction'?"),
        (Agent, {"name": "a", "tols": []}, "there is no field 'tols'; did you mean 'tools'?"),
        (Agent, {"name": "a", "zzz": 1}, "LlmAgent 'a': there is no field 'zzz'"),
        (Agent, {"nme": "a"}, "there is no field 'nme'; did you mean 'name'?"),
        (Mine, {"name": "a", "patient": 1}, "there is no field 'patient'; did you mean 'patience'?"),
        (SequentialAgent, {"name": "a", "subagents": []}, "did you mean 'sub_agents'?"),
        (ParallelAgent, {"name": "a", "sub_agent": []}, "did you mean 'sub_agents'?"),
        (LoopAgent, {"name": "a", "max_iteration": 3}, "did you mean 'max_iterations'?"),
        (Workflow, {"name": "a", "edgs": []}, "did you mean 'edges'?"),
        (JoinNode, {"name": "a", "time_out": 3}, "did you mean 'timeout'?"),
        (App, {"name": "a", "root_agent": Agent(name="a"), "plugin": []}, "did you mean 'plugins'?"),
    ],
)
def test_one_that_is_near_is_named(kind: Any, fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError) as caught:
        kind(**fields)
    assert says in str(caught.value)
    assert any(problem["type"] == "extra_forbidden" for problem in caught.value.errors())


def test_what_else_is_wrong_is_told_beside_it() -> None:
    with pytest.raises(ValidationError) as caught:
        Agent(name="not a {name}", tols=[], sub_agents=3)  # type: ignore[call-arg,arg-type]
    problems = {problem["loc"]: problem["msg"] for problem in caught.value.errors()}
    assert problems[("name",)].startswith("Value error, invalid agent name 'not a {name}'")
    assert problems[("sub_agents",)] == "Input should be a valid list"
    assert problems[("tols",)] == "there is no field 'tols'; did you mean 'tools'?"


def test_an_agent_that_is_right_is_made_as_ever() -> None:
    agent = Agent(name="a", sub_agents=[Agent(name="b")])
    assert Agent.model_validate(agent) is agent
    assert isinstance(Agent.model_validate({"name": "c"}), BaseAgent)
    assert agent.clone({"name": "d"}).sub_agents[0].name == "b"
