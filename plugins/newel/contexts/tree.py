"""The tree of agents: what holds for all of it."""

from __future__ import annotations

from newel_kernel import BaseAgent, ConfigurationError


def check_tree(root: BaseAgent) -> None:
    """Refuse two agents of one name in a tree: an event's author must name one."""
    agents: dict[str, BaseAgent] = {}
    for agent in root.walk():
        if agent.name in agents and agents[agent.name] is not agent:
            raise ConfigurationError(
                f"two agents of the tree {root.name!r} are named {agent.name!r} "
                f"(under {_parent(agents[agent.name])} and under {_parent(agent)}); rename one of them"
            )
        agents[agent.name] = agent


def _parent(agent: BaseAgent) -> str:
    return repr(agent.parent_agent.name) if agent.parent_agent is not None else "no parent"
