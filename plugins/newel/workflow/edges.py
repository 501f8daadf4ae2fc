"""Edges: the connections from one node of a graph to another, and short ways to write many of them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, field_validator

from newel.workflow._base_node import BaseNode
from newel.workflow.factory import NodeLike, build_node

#: The route of an edge that is followed if no other route of its node matched.
DEFAULT_ROUTE = "__DEFAULT__"
Route: TypeAlias = bool | int | str
if TYPE_CHECKING:
    Routes: TypeAlias = Route | Sequence[Route] | None
    Group: TypeAlias = NodeLike | tuple[NodeLike, ...]
    ChainItem: TypeAlias = Group | Mapping[Any, Group]
    EdgeItem: TypeAlias = "Edge | Sequence[ChainItem]"
else:
    Routes = EdgeItem = object


class Edge(BaseModel):
    """From one node to another: always, or if `from_node` gives `route` (or one of the routes in the list)."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", defer_build=True)

    #: A node once a graph has the edge; until then what a node is made of.
    from_node: Any
    #: Likewise.
    to_node: Any
    #: The route, or the routes, on which the edge is followed; None: always.
    route: Routes = None

    if TYPE_CHECKING:

        def __init__(self, *, from_node: NodeLike, to_node: NodeLike, route: Routes = None) -> None: ...

    @field_validator("from_node", "to_node")
    @classmethod
    def _node_like(cls, value: object) -> object:
        if isinstance(value, BaseNode) or callable(value) or hasattr(value, "name") or value == "START":
            return value
        raise ValueError(f"{value!r} ({type(value).__name__}) cannot be a node")

    @field_validator("route")
    @classmethod
    def _routes(cls, value: object) -> object:
        if isinstance(value, (tuple, set)):
            value = list(value)
        for route in value if isinstance(value, list) else [value]:
            if route is not None and not isinstance(route, (bool, int, str)):
                raise ValueError(f"a route is a bool, an int or a string, not {route!r} ({type(route).__name__})")
        if isinstance(value, list) and DEFAULT_ROUTE in value:
            raise ValueError(f"DEFAULT_ROUTE cannot be combined with other routes in a list: {value}")
        return value


class EdgeReader:
    """Reads edge items; the same object in several of them is the same node."""

    def __init__(self) -> None:
        self._nodes: dict[object, tuple[object, BaseNode]] = {}
        self.edges: list[Edge] = []

    def read(self, item: object) -> None:
        """Take in an Edge, or a chain: a tuple of nodes, of tuples of nodes, and of maps from routes to them."""
        if isinstance(item, Edge):
            self._add(self.node(item.from_node), self.node(item.to_node), item.route)
        elif isinstance(item, (tuple, list)):
            self._read_chain(item)
        else:
            raise ValueError(f"Invalid edge type: {type(item)}")

    def node(self, node_like: object) -> BaseNode:
        """The node of an entry."""
        key = (node_like.__self__, node_like.__func__) if inspect.ismethod(node_like) else node_like
        identity = tuple(map(id, key)) if isinstance(key, tuple) else id(key)
        entry = self._nodes.get(identity)
        if entry is None:
            entry = self._nodes[identity] = (key, build_node(node_like))  # keeps the key: its id stays its own
        return entry[1]

    def _read_chain(self, chain: Sequence[object]) -> None:
        before: list[BaseNode] = []
        map_before = False
        for entry in chain:
            if isinstance(entry, Mapping):
                if map_before:
                    raise ValueError(
                        f"two routing maps follow each other in the chain {describe_chain(chain)}: "
                        f"split it into several edge items"
                    )
                before = self._read_map(before, entry, chain)
                map_before = True
                continue
            map_before = False
            group = [self.node(one) for one in (entry if isinstance(entry, tuple) else (entry,))]
            for source in before:
                for target in group:
                    self._add(source, target, None)
            before = group

    def _read_map(
        self, before: list[BaseNode], routes: Mapping[object, object], chain: Sequence[object]
    ) -> list[BaseNode]:
        if not routes:
            raise ValueError(f"a routing map in the chain {describe_chain(chain)} is empty: name at least one route")
        targets: list[BaseNode] = []
        for route, entry in routes.items():
            for one in entry if isinstance(entry, tuple) else (entry,):
                target = self.node(one)
                if target not in targets:
                    targets.append(target)
                for source in before:
                    self._add(source, target, route)
        return targets

    def _add(self, source: BaseNode, target: BaseNode, route: Any) -> None:
        self.edges.append(Edge(from_node=source, to_node=target, route=route))


def describe_chain(entries: Iterable[object]) -> str:
    """The entries of a chain, by name."""
    return f"({', '.join(_name(entry) for entry in entries)})"


def _name(entry: object) -> str:
    if isinstance(entry, tuple):
        return describe_chain(entry)
    if isinstance(entry, Mapping):
        return "{" + ", ".join(f"{route!r}: {_name(target)}" for route, target in entry.items()) + "}"
    name = getattr(entry, "name", None) or getattr(entry, "__name__", None)
    return str(name) if name else repr(entry)
