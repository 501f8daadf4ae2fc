"""The graph of a workflow in a file: `nodes` by name, and `edges` between them.

An edge is a chain (``[START, a, {urgent: b, DEFAULT: c}]``, in which a list is a fan-out) or a mapping
(``{from: a, to: b, route: x}``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from newel import workflow
from newel.files.compilation import Factory, Place, kind_of
from newel.files.document import unknown_key
from newel.files.names import call
from newel.files.nodes import DEFAULT, START, Node, read_node
from newel_kernel import Json, did_you_mean

_ENDS = {"from": "from", "from_node": "from", "to": "to", "to_node": "to", "route": "route"}
#: The keys that make a mapping in a chain a node, if it could be a map of routes.
_NODE_KEYS = {"agent_class", "config_path", "function", "func", "func_code", "tool"}
_AGENT_KEYS = {"model", "instruction", "description", "tools", "sub_agents"}


def read_edges(place: Place) -> Factory:
    """The edges of a workflow, with the nodes listed under `nodes`."""
    graph = _Graph()
    nodes = place.sibling("nodes")
    if nodes is not None:
        graph.declare(nodes)
    makes = [make for item in place.items() for make in graph.edges(item)]
    graph.finish()
    return lambda: [make() for make in makes]


class _Graph:
    """The nodes of one workflow while its edges are read."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._declared: dict[str, Place] = {}
        #: Names that were used in an edge before their node was read, with their places.
        self._forward_uses: list[tuple[str, Place]] = []

    def declare(self, nodes: Place) -> None:
        """Read `nodes`: a mapping from names, or a list of mappings with names."""
        entries: list[tuple[object, Place]]
        if isinstance(nodes.value, Mapping):
            entries = [(key, nodes.child(str(key), item)) for key, item in nodes.value.items()]
        else:
            entries = [(None, place) for place in nodes.items()]
        for key, place in entries:
            if key is not None and (not isinstance(key, str) or key == START or key in DEFAULT):
                raise place.error(f"a node cannot be called {key!r}; rename it")
            node = read_node(place, key)
            name = self._add(key or node.name, node, place)
            self._declared[name] = place

    def _add(self, name: str | None, node: Node, place: Place) -> str:
        if name is None:
            raise place.error("the node has no name; add a line `name: ...`")
        if name in self._nodes:
            raise place.error(f"two nodes are called {name!r}; rename one, or name it by {name!r} alone")
        self._nodes[name] = node
        return name

    def edges(self, place: Place) -> Iterator[Factory]:
        """An item of `edges`, which is one edge or several."""
        if isinstance(place.value, Mapping):
            yield from self._edge(place, place.value)
        elif isinstance(place.value, list):
            yield self._chain(place)
        else:
            kind = kind_of(place.value)
            raise place.error(f"an edge is a list such as [START, a, b] or {{from: a, to: b}}, not {kind}")

    def _edge(self, place: Place, value: Mapping[object, object]) -> Iterator[Factory]:
        ends: dict[str, object] = {}
        for key, item in value.items():
            end = _ENDS.get(key) if isinstance(key, str) else None
            if end is None or end in ends:
                raise place.error(unknown_key(str(key), "an edge", ("from", "to", "route")), str(key))
            ends[end] = item
        for end in ("from", "to"):
            if end not in ends:
                raise place.error(f"{end!r} of the edge is missing; add it: {{from: a, to: b}}")
        key = ends.get("route")
        route = [_route(one) for one in key] if isinstance(key, list) else _route(key)
        after = self._side_by_side(place, ends["to"])
        for before in self._side_by_side(place, ends["from"]):
            yield from (partial(_make_edge, place, before, one, route) for one in after)

    def _side_by_side(self, place: Place, value: object) -> list[Factory]:
        """The nodes at one end of an edge; faults are reported at the edge."""
        values = value if isinstance(value, list) else [value]
        return [self._node(replace(place, value=one)) for one in values]

    def _chain(self, place: Place) -> Factory:
        items = place.items()
        if len(items) < 2:
            raise place.error("a chain has two nodes or more, such as [START, a]")
        makes = [self._element(item) for item in items]
        return lambda: tuple(make() for make in makes)

    def _element(self, place: Place) -> Factory:
        if not isinstance(place.value, Mapping) or _is_node(place.value):
            return self._target(place)
        if place.key == 0:
            raise place.error("a map of routes comes after the node that chooses one, not first")
        if not place.value:
            raise place.error("the map of routes is empty; write {route: node}")
        routes = {_route(key): self._target(place.child(str(key), item)) for key, item in place.value.items()}
        return lambda: {route: make() for route, make in routes.items()}

    def _target(self, place: Place) -> Factory:
        """A node, or several side by side."""
        if not isinstance(place.value, list):
            return self._node(place)
        if not place.value:
            raise place.error("an empty list leads nowhere; name a node in it")
        makes = [self._node(item) for item in place.items()]
        return lambda: tuple(make() for make in makes)

    def _node(self, place: Place) -> Factory:
        """A node by its name, or one that is described in place."""
        value = place.value
        if value == START:
            return lambda: workflow.START
        if isinstance(value, str) and value in self._nodes:
            return self._use(self._nodes[value])
        if isinstance(value, str) and "." not in value:
            self._forward_uses.append((value, place))
            return lambda: self._nodes[value].make()
        node = read_node(place, None)
        if isinstance(value, str):
            self._nodes[value] = node  # named again by its path, it is the same node
        if node.name != value:
            self._add(node.name, node, place)
        return self._use(node)

    def _use(self, node: Node) -> Factory:
        node.used = True
        return node.make

    def finish(self) -> None:
        """Check that every name has its node, and that every declared node is in an edge."""
        for name, place in self._forward_uses:
            if name not in self._nodes:
                names = [one for one in self._nodes if "." not in one]
                hint = did_you_mean(name, [*names, START]) or f" (there are: {', '.join(sorted(names)) or 'none'})"
                raise place.error(f"no node is called {name!r}{hint}; declare it under `nodes`")
            self._nodes[name].used = True
        for name, place in self._declared.items():
            if not self._nodes[name].used:
                raise place.error(f"the node {name!r} is in no edge; add one, or remove the node")


def _is_node(value: Mapping[object, object]) -> bool:
    """Whether a mapping in a chain is a node; else it is a map of routes."""
    if _NODE_KEYS & value.keys() or (len(value) == 1 and isinstance(value.get("code"), str)):
        return True
    return "name" in value and bool(_AGENT_KEYS & value.keys())


def _make_edge(place: Place, before: Factory, after: Factory, route: object) -> object:
    ends: Json = {"from_node": before(), "to_node": after(), "route": route}
    return call(place, "edge", lambda: workflow.Edge(**ends))


def _route(key: object) -> object:
    return workflow.DEFAULT_ROUTE if isinstance(key, str) and key in DEFAULT else key
