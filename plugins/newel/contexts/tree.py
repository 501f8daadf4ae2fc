"""The tree of agents: the rules for the whole of it."""

from __future__ import annotations

from newel_kernel import BaseAgent, ConfigurationError


def check_tree(root: BaseAgent) -> None:
    """Refuse two agents of one name in a tree (an event's author must name one), and an agent in two places."""
    agents: dict[str, BaseAgent] = {}
    for agent in root.walk():
        if agents.get(agent.name) is agent:  # it was appended to a list of sub-agents, unchecked
            raise ConfigurationError(
                f"the agent {agent.name!r} is in two places of the tree {root.name!r}, or below itself; "
                f"an agent has one place (use clone())"
            )
        if agent.name in agents:
            raise ConfigurationError(
                f"two agents of the tree {root.name!r} are named {agent.name!r} "
                f"(under {_parent(agents[agent.name])} and under {_parent(agent)}); rename one of them"
            )
        agents[agent.name] = agent


def _parent(agent: BaseAgent) -> str:
    return repr(agent.parent_agent.name) if agent.parent_agent is not None else "no parent"
