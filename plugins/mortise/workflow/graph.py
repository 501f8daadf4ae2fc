"""Graph: nodes and edges, checked when they are put together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from mortise.workflow.base_node import START, BaseNode
from mortise.workflow.edges import DEFAULT_ROUTE, Edge, EdgeReader
from mortise.workflow.validation import problems_of

__all__ = ["DEFAULT_ROUTE", "Edge", "Graph"]


class _Ways:
    """The edges that leave a node, sorted by when they are followed."""

    __slots__ = ("always", "default", "routed")

    def __init__(self) -> None:
        self.always: list[str] = []
        self.routed: list[tuple[Any, str]] = []
        self.default: list[str] = []

    def add(self, route: Any, target: str) -> None:
        if route is None:
            self.always.append(target)
        elif isinstance(route, str) and route == DEFAULT_ROUTE:
            self.default.append(target)
        else:
            self.routed.append((route, target))

    def follow(self, routes: Any) -> list[str]:
        if not self.routed and not self.default:
            return self.always
        given = routes if isinstance(routes, list) else [routes]
        found = [target for route, target in self.routed if _meets(route, given)]
        return self.always + (found or self.default)


def _meets(route: Any, given: list[Any]) -> bool:
    return any(one in given for one in route) if isinstance(route, list) else route in given


class Graph(BaseModel):
    """The compiled form of a workflow's edges. `nodes` may be left out: they are those that the edges name."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    nodes: list[Any] = Field(default_factory=list)
    edges: list[Edge] = Field(default_factory=list)

    _by_name: dict[str, BaseNode] = PrivateAttr(default_factory=dict)
    _ways: dict[str, _Ways] = PrivateAttr(default_factory=dict)
    _before: dict[str, list[str]] = PrivateAttr(default_factory=dict)
    _terminal_node_names: set[str] = PrivateAttr(default_factory=set)

    @classmethod
    def from_edge_items(cls, edge_items: Iterable[Any]) -> Self:
        """A graph of Edges and chains; see `EdgeReader.read`."""
        reader = EdgeReader()
        for item in edge_items:
            reader.read(item)
        return cls(edges=reader.edges)

    def model_post_init(self, context: Any, /) -> None:
        """Find the nodes, and who follows whom."""
        reader = EdgeReader()
        nodes = {id(node): node for node in map(reader.node, self.nodes)}
        for edge in self.edges:
            edge.from_node, edge.to_node = reader.node(edge.from_node), reader.node(edge.to_node)
            nodes[id(edge.from_node)] = edge.from_node
            nodes[id(edge.to_node)] = edge.to_node
        self.nodes = list(nodes.values())
        self._by_name = {node.name: node for node in self.nodes}
        for node in self.nodes:
            self._ways[node.name] = _Ways()
            self._before[node.name] = []
        for edge in self.edges:
            self._ways[edge.from_node.name].add(edge.route, edge.to_node.name)
            self._before[edge.to_node.name].append(edge.from_node.name)
        sources = {edge.from_node.name for edge in self.edges}
        self._terminal_node_names = {n.name for n in self.nodes if n.name != START.name and n.name not in sources}

    def validate_graph(self) -> None:
        """ValueError with everything that is wrong with the graph."""
        problems = problems_of(self)
        if problems:
            raise ValueError(f"the graph is not valid: {'; '.join(problems)}")

    def get_next_pending_nodes(self, node_name: str, routes_to_match: Any) -> list[str]:
        """The names of the nodes that follow `node_name` where it gave that route, or list of routes, or None."""
        return list(self._ways[node_name].follow(routes_to_match))

    def following(self, node_name: str, routes: Any) -> list[str]:
        """The same, without a copy."""
        return self._ways[node_name].follow(routes)

    def node(self, name: str) -> BaseNode:
        """The node of that name."""
        return self._by_name[name]

    def predecessors(self, name: str) -> list[str]:
        """The nodes with an edge to that one, in the order of the edges."""
        return self._before[name]

    @property
    def terminal_names(self) -> set[str]:
        """The nodes that no edge leaves: their output is the graph's."""
        return self._terminal_node_names
