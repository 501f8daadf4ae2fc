"""A total order for a chain: the distribution's spine, and every other stage next to its anchor.

The spine is the exact chain; a further stage says ``after=("contents",)`` or ``before=...``. The same
stages give the same order, in whatever order the plugins were found. An anchor that ends in ``?`` is optional: with
``after=("compaction?", "contents")`` the first anchor counts only if that stage exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any, NamedTuple

from newel_compose._internal.faults import Fault
from newel_kernel import CompositionError, Stage, did_you_mean

_OPTIONAL = "?"


class Owned(NamedTuple):
    """A descriptor with its provider: the plugin's name, and its distribution and version as one text."""

    item: Any
    plugin: str
    source: str
    #: Whether it may go without an anchor, because its kind is open-ended or its anchors are optional: then its place
    #: is the end of the chain.
    anchored: bool = False

    @property
    def label(self) -> str:
        """``'redact' (newel-redact 0.1)``"""
        return f"{self.item.name!r} ({self.source})"


class Placed(NamedTuple):
    """A stage in its place, and the constraint that put it there."""

    stage: Any
    plugin: str
    source: str
    why: str


def order_chain(
    chain: str, spine: Sequence[str], stages: Sequence[Owned], disabled: Mapping[str, str]
) -> tuple[Placed, ...]:
    """Order `stages` around `spine`.

    `disabled` maps the names of stages that the distribution disables to the reason; they are dropped from the
    spine. Every problem is reported in one CompositionError.
    """
    stages = _with_anchors(stages)
    by_name = {owned.item.name: owned for owned in stages}
    spine = [name for name in spine if name not in disabled or name in by_name]
    problems = _problems(chain, spine, stages, by_name, disabled)
    problems += _contradictions(chain, spine, by_name)
    if problems:
        raise CompositionError(problems)
    graph = _graph(spine, by_name)
    topological = tuple(TopologicalSorter(graph).static_order())
    slots = _slots(spine, by_name, graph, topological)
    ordered = _pop_in_order(graph, slots)
    return tuple(
        Placed(by_name[n].item, by_name[n].plugin, by_name[n].source, _why(by_name[n].item, spine)) for n in ordered
    )


def _with_anchors(stages: Sequence[Owned]) -> list[Owned]:
    """The stages, with only those optional anchors that exist."""
    names = {owned.item.name for owned in stages}

    def present(anchors: Sequence[str]) -> tuple[str, ...]:
        plain = [(anchor.removesuffix(_OPTIONAL), anchor.endswith(_OPTIONAL)) for anchor in anchors]
        return tuple(anchor for anchor, optional in plain if anchor in names or not optional)

    return [
        owned._replace(
            item=replace(owned.item, after=present(owned.item.after), before=present(owned.item.before)), anchored=True
        )
        if any(anchor.endswith(_OPTIONAL) for anchor in (*owned.item.after, *owned.item.before))
        else owned
        for owned in stages
    ]


def _problems(
    chain: str,
    spine: Sequence[str],
    stages: Sequence[Owned],
    by_name: Mapping[str, Owned],
    disabled: Mapping[str, str],
) -> list[str]:
    problems: list[str] = []
    seen: dict[str, list[Owned]] = {}
    for owned in stages:
        seen.setdefault(owned.item.name, []).append(owned)
    for name, several in sorted(seen.items()):
        if len(several) > 1:
            sources = ", ".join(sorted(owned.source for owned in several))
            why = (
                f"it provides {name!r}, which {several[0].source} provides too; name it under `replace:` in newel.yaml"
            )
            text = f"{chain}: {name!r} is provided {len(several)} times, by {sources}"
            problems.append(Fault(text, *(owned.plugin for owned in several), why=why))
    for name in spine:
        if spine.count(name) > 1:
            problems.append(f"{chain}: the distribution lists {name!r} twice")
        if name not in by_name:
            problems.append(
                f"{chain}: the distribution lists {name!r}, which no enabled plugin provides"
                f"{did_you_mean(name, by_name)}"
            )
    for owned in sorted(stages, key=lambda o: str(o.item.name)):
        for problem in _misplaced(owned, spine, by_name, disabled):
            why = f"its {owned.item.name!r} {problem}"
            problems.append(Fault(f"{chain}: {owned.label} {problem}", owned.plugin, why=why))
    return list(dict.fromkeys(problems))


def _misplaced(
    owned: Owned, spine: Sequence[str], by_name: Mapping[str, Owned], disabled: Mapping[str, str]
) -> Iterator[str]:
    stage: Stage = owned.item
    for anchor in (*stage.after, *stage.before):
        if anchor in by_name or (anchor in disabled and stage.name in spine):
            continue  # a stage that the distribution lists has its place without the anchor
        if anchor in disabled:
            yield f"is anchored to {anchor!r}, but {disabled[anchor]}"
        else:
            yield f"is anchored to {anchor!r}, which does not exist{did_you_mean(anchor, by_name)}"
    if spine and not (stage.after or stage.before or owned.anchored) and stage.name not in spine:
        yield "has no place: it is not in the distribution's chain and has no anchor (after= or before=)"


def _contradictions(chain: str, spine: Sequence[str], by_name: Mapping[str, Owned]) -> list[str]:
    """Every cycle; the stages that make one are left out before the next is searched."""
    spine = [name for name in dict.fromkeys(spine) if name in by_name]
    left = dict(by_name)
    problems: list[str] = []
    while True:
        try:
            graph = _graph([name for name in spine if name in left], left)
            TopologicalSorter({name: sorted(earlier) for name, earlier in graph.items()}).prepare()
        except CycleError as error:
            circle = error.args[1]
            makers = {name for name in circle if left[name].item.after or left[name].item.before}
            placed = sorted((left.pop(name) for name in makers), key=lambda owned: owned.label)
            order = f"contradictory order {' -> '.join(circle)} (placed by {', '.join(one.label for one in placed)})"
            problems.append(Fault(f"{chain}: {order}", *(one.plugin for one in placed), why=f"it makes a {order}"))
        else:
            return problems


def _graph(spine: Sequence[str], by_name: Mapping[str, Owned]) -> dict[str, set[str]]:
    """For each stage, the stages before it. The spine gives edges too, so a stage that contradicts it makes a cycle."""
    graph: dict[str, set[str]] = {name: set() for name in by_name}
    for earlier, later in pairwise(spine):
        graph[later].add(earlier)
    for name, owned in by_name.items():
        graph[name].update(anchor for anchor in owned.item.after if anchor in graph)
        for later in owned.item.before:
            if later in graph:
                graph[later].add(name)
    return graph


Slot = tuple[int, int]


def _slots(
    spine: Sequence[str], by_name: Mapping[str, Owned], graph: Mapping[str, set[str]], topological: Sequence[str]
) -> dict[str, Slot]:
    """Where each stage sits: (index in the spine, -1 before it, 0 itself, 1 after it)."""
    slots: dict[str, Slot] = {name: (i, 0) for i, name in enumerate(spine)}
    placed = 0
    while placed != len(slots):  # an anchor may get its own place in the second half of a round
        placed = len(slots)
        for name in topological:
            near = [slots[earlier] for earlier in graph[name] if earlier in slots]
            if name not in slots and near:
                index, side = max(near)
                slots[name] = (index, side or 1)
        for name in reversed(topological):
            near = [slots[later] for later in by_name[name].item.before if later in slots]
            if name not in slots and near:
                index, side = min(near)
                slots[name] = (index, side or -1)
    # Anchored only to stages that have no anchor themselves: the end of the chain.
    return {name: slots.get(name, (len(spine), 1)) for name in topological}


def _pop_in_order(graph: Mapping[str, set[str]], slots: Mapping[str, Slot]) -> list[str]:
    sorter = TopologicalSorter(graph)
    sorter.prepare()
    ready: list[tuple[Slot, str]] = []
    ordered: list[str] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heappush(ready, (slots[name], name))
        ordered.append(heappop(ready)[1])
        sorter.done(ordered[-1])
    return ordered


def _why(stage: Stage, spine: Sequence[str]) -> str:
    if stage.name in spine:
        return "distribution"
    anchors = [f"after {name}" for name in stage.after] + [f"before {name}" for name in stage.before]
    return ", ".join(anchors) or "the end of the chain"
