"""Agents from YAML files."""

from __future__ import annotations

from pathlib import Path

from newel.agents.yaml_loader import load_agent
from newel_compose import Composition
from newel_kernel import BaseAgent

__all__ = ["from_config"]


def from_config(config_path: str | Path, *, composition: Composition | None = None) -> BaseAgent:
    """The agent that the YAML file describes, with its sub-agents and tools.

    Code is named as ``module.function`` of the file's own folder; tools and agent classes also by the names that
    installed plugins give them. A fault is an AgentConfigError whose message starts with ``file:line``.
    """
    agent: BaseAgent = load_agent(config_path, composition)
    return agent
