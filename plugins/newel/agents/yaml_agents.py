"""Agents in agent files: references to further files and to the app's code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from newel.agents.common_configs import AgentRefConfig
from newel.agents.yaml_reading import Make, items, located, parsed
from newel.agents.yaml_syntax import Steps
from newel_kernel import BaseAgent

if TYPE_CHECKING:
    from newel.agents.yaml_loader import AgentFile

SUFFIXES = (".yaml", ".yml")


def read_agents(file: AgentFile, steps: Steps, value: Any) -> Make:
    """Several agents."""
    makes = [read_agent(file, place, item) for place, item in items(file, steps, value)]
    return lambda: [make() for make in makes]


def read_agent(file: AgentFile, steps: Steps, value: Any) -> Make:
    """An agent of another file, or of the app's code."""
    if isinstance(value, str) and value.endswith(SUFFIXES):
        return file.load(steps, value)
    if not isinstance(value, Mapping):
        raise file.error(steps, "an agent is written `config_path: file.yaml` or `code: module.agent`")
    reference = parsed(file, steps, value, AgentRefConfig)
    if reference.config_path is not None:
        return file.load((*steps, "config_path"), reference.config_path)
    return read_agent_of_code(file, (*steps, "code"), str(reference.code))


def read_agent_of_code(file: AgentFile, steps: Steps, name: str) -> Make:
    """An agent object of the app's code."""
    find = located(file, steps, name)

    def make() -> BaseAgent:
        agent = find()
        if not isinstance(agent, BaseAgent):
            kind = f"the class {agent.__name__}" if isinstance(agent, type) else type(agent).__name__
            raise file.error(steps, f"{name!r} is {kind}, not an agent; name an agent object")
        return file.adopt(agent, steps)

    return make
