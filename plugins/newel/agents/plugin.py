"""The plugin of the agent types that agent files can name."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from newel.agents import kinds
from newel.agents.kinds import AgentType
from newel_kernel import Descriptor, Kind, hookimpl

_MODULES = {
    "LangGraphAgent": "newel.agents.langgraph_agent",
    "LlmAgent": "newel.agents.llm_agent",
    "Agent": "newel.agents.llm_agent",
    "SequentialAgent": "newel.agents.sequential_agent",
    "LoopAgent": "newel.agents.loop_agent",
    "ParallelAgent": "newel.agents.parallel_agent",
    "Workflow": "newel.workflow",
}


def _load(name: str) -> object:
    return getattr(import_module(_MODULES[name]), name)


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """The types of agents."""
    return [Kind(kinds.AgentType, kinds.register_agent_types)]


@hookimpl
def register_agent_types() -> list[AgentType]:
    """The LLM agent (and its alias), the composite agents, workflows, and LangGraph's graphs as agents."""
    return [AgentType(name=name, load=partial(_load, name)) for name in _MODULES]
