"""Joins: the outputs that have arrived at nodes that wait for all their predecessors."""

from __future__ import annotations

from collections.abc import Iterable

from newel.workflow.step import Step

#: An output and the branch that it was given on.
Arrival = tuple[object, str | None]


class Joins:
    """The arrivals at each joining node of a graph, by predecessor; the latest of each counts."""

    __slots__ = ("_arrived",)

    def __init__(self) -> None:
        self._arrived: dict[str, dict[str, Arrival]] = {}

    def arrive(self, target: Step, source: str, output: object, branch: str | None) -> Arrival | None:
        """Add an arrival. Once all have arrived: the outputs by predecessor, and the branch they have in common."""
        arrived = self._arrived.setdefault(target.name, {})
        arrived[source] = (output, branch)
        if len(arrived) < len(target.before):
            return None
        del self._arrived[target.name]
        return {name: arrived[name][0] for name in target.before}, _common(branch for _, branch in arrived.values())


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
