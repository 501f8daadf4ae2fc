"""The tree of agents: walking it, and the rules for its shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from newel_kernel._internal.errors import ConfigurationError


class Parent(Protocol):
    """Knows the children of a node."""

    def children(self) -> Sequence[Node]:
        """The children, each with its parent."""


class Node(Protocol):
    """What the rules need of an agent."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def parent_agent(self) -> Node | None:
        """The node above it."""

    @property
    def sub_agents(self) -> Sequence[Node]:
        """The nodes below it, which may not know it yet."""

    @property
    def __newel__(self) -> Parent:
        """Its driver."""


A = TypeVar("A", bound=Node)


def root_of(agent: A) -> A:
    """The root of the agent's tree."""
    while (parent := agent.parent_agent) is not None:
        agent = parent  # type: ignore[assignment]  # of the same kind
    return agent


def subtree(agent: A) -> Iterator[A]:
    """The agents of a subtree, `agent` first, each before its sub-agents."""
    yield agent
    for child in agent.__newel__.children():
        yield from subtree(child)  # type: ignore[misc]  # of the same kind


def check_children(agent: Node, kind: type[Node]) -> None:
    """Refuse sub-agents that are not of `kind`, have a parent, have the same name, or are above their parent."""
    names: set[str] = set()
    above = {id(agent)}
    parent = agent.parent_agent
    while parent is not None:
        above.add(id(parent))
        parent = parent.parent_agent
    for index, child in enumerate(agent.sub_agents):
        if not isinstance(child, kind):  # it was appended, unchecked
            raise ConfigurationError(f"sub_agents[{index}] of the agent {agent.name!r} is {child!r}, not an agent")
        if id(child) in above:
            raise _two_places(child, root_of(agent))
        parent = child.parent_agent
        if parent is not None and parent is not agent and any(child is one for one in parent.sub_agents):
            raise ConfigurationError(
                f"agent {child.name!r} already has the parent {parent.name!r}; "
                f"it cannot be a sub-agent of {agent.name!r} as well (use clone())"
            )
        if child.name in names:
            raise ConfigurationError(f"agent {agent.name!r} has two sub-agents named {child.name!r}")
        names.add(child.name)


def check_tree(root: Node) -> None:
    """Refuse two agents of one name in a tree (an event's author must name one), and an agent in two places."""
    agents: dict[str, Node] = {}
    for agent in subtree(root):
        if agents.get(agent.name) is agent:
            raise _two_places(agent, root)
        if agent.name in agents:
            raise ConfigurationError(
                f"two agents of the tree {root.name!r} are named {agent.name!r} "
                f"(under {_parent(agents[agent.name])} and under {_parent(agent)}); rename one of them"
            )
        agents[agent.name] = agent


def _two_places(agent: Node, root: Node) -> ConfigurationError:
    return ConfigurationError(
        f"the agent {agent.name!r} is in two places of the tree {root.name!r}, or below itself; "
        f"an agent has one place (use clone())"
    )


def _parent(agent: Node) -> str:
    return repr(agent.parent_agent.name) if agent.parent_agent is not None else "no parent"
