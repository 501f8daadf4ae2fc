"""The graph of a workflow in an agent file: `nodes` by name, and `edges` between them.

An edge is a chain (``[START, a, {urgent: b, DEFAULT: c}]``, a list in it being a fan-out) or a mapping
(``{from: a, to: b, route: x}``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from newel.agents.yaml_nodes import DEFAULT, START, Node, read_node, workflow
from newel.agents.yaml_positions import unknown_key
from newel.agents.yaml_reading import Make, called, items, shown
from newel.agents.yaml_syntax import Steps
from newel_kernel import did_you_mean

if TYPE_CHECKING:
    from newel.agents.yaml_loader import AgentFile

_ENDS = {"from": "from", "from_node": "from", "to": "to", "to_node": "to", "route": "route"}
#: The keys that make a mapping in a chain a node, where it could be a map of routes.
_NODE_KEYS = {"agent_class", "config_path", "function", "func", "func_code", "tool"}
_AGENT_KEYS = {"model", "instruction", "description", "tools", "sub_agents"}


def read_edges(file: AgentFile, steps: Steps, value: Any) -> Make:
    """The edges of a workflow, with the nodes that stand beside them under `nodes`."""
    graph = _Graph(file)
    graph.declare((*steps[:-1], "nodes"), file.beside(steps, "nodes"))
    makes = [make for place, item in items(file, steps, value) for make in graph.edges(place, item)]
    graph.finish()
    return lambda: [make() for make in makes]


class _Graph:
    """The nodes of one workflow while its edges are read."""

    def __init__(self, file: AgentFile) -> None:
        self._file = file
        self._nodes: dict[str, Node] = {}
        self._declared: dict[str, Steps] = {}
        #: Names that stood in an edge before their node did, with their places.
        self._awaited: list[tuple[str, Steps]] = []

    def declare(self, steps: Steps, value: Any) -> None:
        """Read `nodes`: a mapping from names, or a list of mappings with names."""
        if value is None:
            return
        if isinstance(value, Mapping):
            entries = [((*steps, str(key)), key, item) for key, item in value.items()]
        else:
            entries = [(place, None, item) for place, item in items(self._file, steps, value)]
        for place, key, item in entries:
            if key is not None and (not isinstance(key, str) or key == START or key in DEFAULT):
                raise self._file.error(place, f"a node cannot be called {key!r}; rename it")
            node = read_node(self._file, place, key, item)
            self._add(key or node.name, node, place)
            self._declared[str(key or node.name)] = place

    def _add(self, name: str | None, node: Node, steps: Steps) -> Node:
        if name is None:
            raise self._file.error(steps, "the node has no name; add a line `name: ...`")
        if name in self._nodes:
            raise self._file.error(steps, f"two nodes are called {name!r}; rename one, or name it by {name!r} alone")
        self._nodes[name] = node
        return node

    def edges(self, steps: Steps, value: Any) -> Iterator[Make]:
        """An item of `edges`, which is one edge or several."""
        if isinstance(value, Mapping):
            yield from self._edge(steps, value)
        elif isinstance(value, list):
            yield self._chain(steps, value)
        else:
            raise self._file.error(
                steps, f"an edge is a list such as [START, a, b] or {{from: a, to: b}}, not {shown(value)}"
            )

    def _edge(self, steps: Steps, value: Mapping[str, Any]) -> Iterator[Make]:
        ends: dict[str, Any] = {}
        for key, item in value.items():
            end = _ENDS.get(key) if isinstance(key, str) else None
            if end is None or end in ends:
                raise self._file.error((*steps, str(key)), unknown_key(str(key), "an edge", ("from", "to", "route")))
            ends[end] = item
        for end in ("from", "to"):
            if end not in ends:
                raise self._file.error(steps, f"{end!r} of the edge is missing; add it: {{from: a, to: b}}")
        routes = ends.get("route")
        found = [_route(one) for one in routes] if isinstance(routes, list) else _route(routes)
        after = self._several(steps, ends["to"])
        for before in self._several(steps, ends["from"]):
            yield from (partial(self._made_edge, steps, before, one, found) for one in after)

    def _made_edge(self, steps: Steps, before: Make, after: Make, route: Any) -> Any:
        package, nodes = workflow(), (before(), after())
        make = partial(package.Edge, from_node=nodes[0], to_node=nodes[1], route=_made_route(route))
        return called(self._file, steps, "edge", make)

    def _several(self, steps: Steps, value: Any) -> list[Make]:
        return [self._node(steps, one) for one in (value if isinstance(value, list) else [value])]

    def _chain(self, steps: Steps, value: list[Any]) -> Make:
        if len(value) < 2:
            raise self._file.error(steps, "a chain has two nodes or more, such as [START, a]")
        makes = [self._element((*steps, index), item) for index, item in enumerate(value)]
        return lambda: tuple(make() for make in makes)

    def _element(self, steps: Steps, value: Any) -> Make:
        if isinstance(value, list):
            return self._fan(steps, value)
        if not isinstance(value, Mapping) or _is_node(value):
            return self._node(steps, value)
        if steps[-1] == 0:
            raise self._file.error(steps, "a map of routes stands after the node that chooses one, not first")
        if not value:
            raise self._file.error(steps, "the map of routes is empty; write {route: node}")
        routes = {}
        for key, item in value.items():
            place = (*steps, str(key))
            routes[_route(key)] = self._fan(place, item) if isinstance(item, list) else self._node(place, item)
        return lambda: {_made_route(key): make() for key, make in routes.items()}

    def _fan(self, steps: Steps, value: list[Any]) -> Make:
        if not value:
            raise self._file.error(steps, "an empty list leads nowhere; name a node in it")
        makes = [self._node((*steps, index), item) for index, item in enumerate(value)]
        return lambda: tuple(make() for make in makes)

    def _node(self, steps: Steps, value: Any) -> Make:
        """A node by its name, or one that is told where it stands."""
        if value == START:
            return lambda: workflow().START
        if isinstance(value, str) and value in self._nodes:
            return self._use(self._nodes[value])
        if isinstance(value, str) and "." not in value:
            self._awaited.append((value, steps))
            return lambda: self._nodes[value].make()
        node = read_node(self._file, steps, None, value)
        if isinstance(value, str):
            self._nodes[value] = node  # named by its path once more, it is the same node
        if node.name != value:
            self._add(node.name, node, steps)
        return self._use(node)

    def _use(self, node: Node) -> Make:
        node.used = True
        return node.make

    def finish(self) -> None:
        """Every name has its node, and every node that was declared stands in an edge."""
        for name, steps in self._awaited:
            if name not in self._nodes:
                known = [one for one in self._nodes if "." not in one]
                hint = did_you_mean(name, [*known, START]) or f" (there are: {', '.join(sorted(known)) or 'none'})"
                raise self._file.error(steps, f"no node is called {name!r}{hint}; declare it under `nodes`")
            self._nodes[name].used = True
        for name, steps in self._declared.items():
            if not self._nodes[name].used:
                raise self._file.error(steps, f"the node {name!r} stands in no edge; add one, or remove the node")


def _is_node(value: Mapping[Any, Any]) -> bool:
    """Whether a mapping in a chain is a node; else it is a map of routes."""
    if _NODE_KEYS & value.keys() or (len(value) == 1 and isinstance(value.get("code"), str)):
        return True
    return "name" in value and bool(_AGENT_KEYS & value.keys())


def _route(value: Any) -> Any:
    return DEFAULT[0] if value in DEFAULT and isinstance(value, str) else value


def _made_route(value: Any) -> Any:
    if isinstance(value, list):
        return [_made_route(one) for one in value]
    return workflow().DEFAULT_ROUTE if value == DEFAULT[0] else value
