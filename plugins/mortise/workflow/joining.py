"""Joining: what has arrived at nodes that wait for all their predecessors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mortise.workflow.graph import Graph


class Joins:
    """The arrivals at each joining node of a graph, by predecessor; the latest of each counts."""

    __slots__ = ("_arrived", "_graph")

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._arrived: dict[str, dict[str, tuple[Any, str | None]]] = {}

    def arrive(self, target: str, source: str, output: Any, branch: str | None) -> tuple[Any, str | None] | None:
        """Take an arrival; once all are there, the outputs by predecessor and the branch that they have in common."""
        arrived = self._arrived.setdefault(target, {})
        arrived[source] = (output, branch)
        sources = self._graph.predecessors(target)
        if len(arrived) < len(sources):
            return None
        del self._arrived[target]
        return {name: arrived[name][0] for name in sources}, _common(branch for _, branch in arrived.values())


def _common(branches: Iterable[str | None]) -> str | None:
    """The longest branch that all are on."""
    common: list[str] | None = None
    for branch in branches:
        steps = branch.split(".") if branch else []
        if common is None:
            common = steps
        else:
            same = 0
            while same < min(len(common), len(steps)) and common[same] == steps[same]:
                same += 1
            common = common[:same]
    return ".".join(common) if common else None
