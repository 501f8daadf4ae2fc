"""The plugin of the agent types that agent files can name."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from mortise_kernel import AgentType, hookimpl

_MODULES = {
    "LangGraphAgent": "mortise.agents.langgraph_agent",
    "LlmAgent": "mortise.agents.llm_agent",
    "Agent": "mortise.agents.llm_agent",
    "SequentialAgent": "mortise.agents.sequential_agent",
    "LoopAgent": "mortise.agents.loop_agent",
    "ParallelAgent": "mortise.agents.parallel_agent",
    "Workflow": "mortise.workflow",
}


def _load(name: str) -> Any:
    return getattr(import_module(_MODULES[name]), name)


@hookimpl
def register_agent_types() -> list[AgentType]:
    """The LLM agent (and its alias), the composite agents, workflows, and LangGraph's graphs as agents."""
    return [AgentType(name=name, load=partial(_load, name)) for name in _MODULES]
