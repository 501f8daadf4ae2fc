"""The plugin of the agent types that agent files can name."""

from __future__ import annotations

from pydantic import BaseModel

from newel.agents import kinds
from newel.agents.kinds import AgentType
from newel.agents.settings import Settings
from newel_kernel import Descriptor, Kind, hookimpl
from newel_types import deferred

_TYPES = {
    "LangGraphAgent": deferred("newel.agents.langgraph_agent", "LangGraphAgent"),
    "LlmAgent": deferred("newel.agents.llm_agent", "LlmAgent"),
    "Agent": deferred("newel.agents.llm_agent", "Agent"),
    "SequentialAgent": deferred("newel.agents.sequential_agent", "SequentialAgent"),
    "LoopAgent": deferred("newel.agents.loop_agent", "LoopAgent"),
    "ParallelAgent": deferred("newel.agents.parallel_agent", "ParallelAgent"),
}


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """The types of agents."""
    return [Kind(kinds.AgentType, kinds.register_agent_types)]


@hookimpl
def register_agent_types() -> list[AgentType]:
    """The LLM agent (and its alias), the composite agents, and LangGraph's graphs as agents."""
    return [AgentType(name=name, load=load) for name, load in _TYPES.items()]
