"""Validation: the checks of a graph. Each names the nodes and edges at fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from newel.workflow._base_node import START, BaseNode
from newel.workflow.edges import DEFAULT_ROUTE, Edge

Nodes = Sequence[BaseNode]
Edges = Sequence[Edge]


def problems_of(nodes: Nodes, edges: Edges) -> list[str]:
    """Everything that is wrong with a graph of these nodes and edges, a sentence each."""
    names = _duplicate_names(nodes)
    if names:  # the other checks go by name
        return names
    return [
        *_start(nodes, edges),
        *_unreachable(nodes, edges),
        *_duplicate_edges(edges),
        *_defaults(edges),
        *_endless(nodes, edges),
        *_schemas(edges),
    ]


def _duplicate_names(nodes: Nodes) -> list[str]:
    counts = Counter(node.name for node in nodes)
    return [
        f"{count} different nodes are named {name!r}: give each a name of its own (node(..., name=...))"
        for name, count in counts.items()
        if count > 1
    ]


def _start(nodes: Nodes, edges: Edges) -> list[str]:
    if START not in nodes:
        return ["no edge leaves START: begin a chain with START, as in (START, first_node)"]
    return [f"the edge {_text(edge)} leads to START, which begins the graph" for edge in edges if edge.to_node is START]


def _unreachable(nodes: Nodes, edges: Edges) -> list[str]:
    if START not in nodes:
        return []
    after: dict[str, list[str]] = {node.name: [] for node in nodes}
    for edge in edges:
        after[edge.from_node.name].append(edge.to_node.name)
    reached = {START.name}
    waiting = [START.name]
    while waiting:
        for name in after[waiting.pop()]:
            if name not in reached:
                reached.add(name)
                waiting.append(name)
    unreached = sorted(name for name in after if name not in reached)
    return [f"no path leads from START to {unreached}"] if unreached else []


def _duplicate_edges(edges: Edges) -> list[str]:
    counts = Counter((edge.from_node.name, edge.to_node.name) for edge in edges)
    return [
        f"{count} edges lead from {source!r} to {target!r}: keep one (it may have a list of routes)"
        for (source, target), count in counts.items()
        if count > 1
    ]


def _defaults(edges: Edges) -> list[str]:
    defaults: dict[str, list[str]] = {}
    for edge in edges:
        if isinstance(edge.route, str) and edge.route == DEFAULT_ROUTE:
            defaults.setdefault(edge.from_node.name, []).append(edge.to_node.name)
    return [
        f"{name!r} has {len(targets)} edges with DEFAULT_ROUTE, to {' and '.join(map(repr, targets))}: keep one"
        for name, targets in defaults.items()
        if len(targets) > 1
    ]


def _endless(nodes: Nodes, edges: Edges) -> list[str]:
    """A cycle of edges without a route would go on for ever."""
    after: dict[str, list[str]] = {node.name: [] for node in nodes}
    for edge in edges:
        if edge.route is None:
            after[edge.from_node.name].append(edge.to_node.name)
    done: set[str] = set()
    for name in after:
        cycle = _cycle_from(name, after, done)
        if cycle:
            return [f"the cycle {' -> '.join(cycle)} has no edge with a route, so it would never end"]
    return []


def _cycle_from(start: str, after: dict[str, list[str]], done: set[str]) -> list[str]:
    """A cycle that can be reached from `start`; `done` are the nodes that lead to none."""
    if start in done:
        return []
    path = {start: iter(after[start])}  # in order: from the start to where the search is
    while path:
        name = next(reversed(path))
        following = next(path[name], None)
        if following is None:
            del path[name]
            done.add(name)
        elif following in path:
            names = list(path)
            return [*names[names.index(following) :], following]
        elif following not in done:
            path[following] = iter(after[following])
    return []


def _schemas(edges: Edges) -> list[str]:
    return [
        f"the edge {_text(edge)} does not fit: {edge.from_node.name!r} gives {_name(edge.from_node.output_schema)}, "
        f"{edge.to_node.name!r} takes {_name(edge.to_node.input_schema)}"
        for edge in edges
        if edge.from_node.output_schema is not None
        and edge.to_node.input_schema is not None
        and edge.from_node.output_schema != edge.to_node.input_schema
    ]


def _text(edge: Edge) -> str:
    route = "" if edge.route is None else f" (route {edge.route!r})"
    return f"{edge.from_node.name!r} -> {edge.to_node.name!r}{route}"


def _name(schema: object) -> str:
    return getattr(schema, "__name__", None) or repr(schema)
