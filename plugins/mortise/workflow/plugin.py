"""The plugin of graphs, as agent files can name them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mortise_kernel import AgentType, hookimpl


def _load() -> Any:
    return import_module("mortise.workflow.workflow").Workflow


@hookimpl
def register_agent_types() -> list[AgentType]:
    """The workflow."""
    return [AgentType(name="Workflow", load=_load)]
