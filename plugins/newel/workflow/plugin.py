"""The plugin of workflows, as agent files name them."""

from __future__ import annotations

from newel.agents.kinds import AgentType
from newel_kernel import hookimpl
from newel_types import deferred


@hookimpl
def register_agent_types() -> list[AgentType]:
    """Workflows."""
    return [AgentType(name="Workflow", load=deferred("newel.workflow", "Workflow"))]
