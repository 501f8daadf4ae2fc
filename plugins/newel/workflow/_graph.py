"""Graph: nodes and edges, checked when they are put together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from newel.workflow._base_node import START
from newel.workflow.edges import DEFAULT_ROUTE, Edge, EdgeReader
from newel.workflow.step import Step
from newel.workflow.validation import problems_of

__all__ = ["DEFAULT_ROUTE", "Edge", "Graph"]


class Graph(BaseModel):
    """The compiled form of a workflow's edges. `nodes` may be left out: they are those that the edges name."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", defer_build=True)

    nodes: list[Any] = Field(default_factory=list)
    edges: list[Edge] = Field(default_factory=list)

    _steps: dict[str, Step] = PrivateAttr(default_factory=dict)
    _terminal_node_names: set[str] = PrivateAttr(default_factory=set)

    @classmethod
    def from_edge_items(cls, edge_items: Iterable[object]) -> Self:
        """A graph of Edges and chains; see `EdgeReader.read`."""
        reader = EdgeReader()
        for item in edge_items:
            reader.read(item)
        return cls(edges=reader.edges)

    def model_post_init(self, context: object, /) -> None:
        """Find the nodes, and which follow which."""
        reader = EdgeReader()
        nodes = {id(node): node for node in map(reader.node, self.nodes)}
        for edge in self.edges:
            edge.from_node, edge.to_node = reader.node(edge.from_node), reader.node(edge.to_node)
            nodes[id(edge.from_node)] = edge.from_node
            nodes[id(edge.to_node)] = edge.to_node
        self.nodes = list(nodes.values())
        self._steps = {node.name: Step(node) for node in self.nodes}
        for edge in self.edges:
            self._steps[edge.from_node.name].lead_to(self._steps[edge.to_node.name], edge.route)
        sources = {edge.from_node.name for edge in self.edges}
        self._terminal_node_names = {n.name for n in self.nodes if n.name != START.name and n.name not in sources}
        for name in self._terminal_node_names:
            self._steps[name].terminal = True

    def validate_graph(self) -> None:
        """Raise a ValueError with everything that is wrong with the graph."""
        problems = problems_of(self.nodes, self.edges)
        if problems:
            raise ValueError(f"the graph is not valid: {'; '.join(problems)}")

    def get_next_pending_nodes(self, node_name: str, routes_to_match: object) -> list[str]:
        """The names of the nodes that follow `node_name` for a route, a list of routes, or None."""
        return [step.name for step in self._steps[node_name].following(routes_to_match)]

    @property
    def steps(self) -> dict[str, Step]:
        """The nodes by name, as a run needs them."""
        return self._steps

    @property
    def terminal_names(self) -> set[str]:
        """The nodes that no edge leaves: their output is the graph's."""
        return self._terminal_node_names
