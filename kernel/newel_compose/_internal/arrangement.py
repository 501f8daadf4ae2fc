"""Arrangement: the stages of a kind in their order, by the distribution's list, their anchors and their phases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from newel_compose._internal.faults import Fault
from newel_compose._internal.ordering import Owned, Placed, order_chain
from newel_kernel import CompositionError, Kind

_OPTIONAL = "?"


def arrange(
    kind: Kind[Any], listed: Sequence[str], stages: Sequence[Owned], disabled: Mapping[str, str]
) -> tuple[Placed, ...]:
    """The stages of a kind that has an order, in that order; every problem is in one CompositionError.

    `listed` is what the distribution lists; a name that ends in ``?`` counts only if there is such a stage. `disabled`
    maps the names of stages that the distribution disables to the reason.
    """
    names = {one.item.name for one in stages}
    spine = [
        name.removesuffix(_OPTIONAL)
        for name in listed
        if not name.endswith(_OPTIONAL) or name.removesuffix(_OPTIONAL) in names
    ]
    stages = sorted(stages, key=lambda one: str(one.item.name))  # so that errors do not depend on how they were found
    if kind.open_ended:  # what is not anchored yet may do without
        stages = [
            one if one.item.after or one.item.before or one.item.name in spine else one._replace(anchored=True)
            for one in stages
        ]
    placed = _without_anchors(spine, stages) or order_chain(kind.order, spine, stages, disabled)
    phases = {one.stage.name: int(one.stage.phase) for one in placed}
    if len(set(phases.values())) <= 1:
        return placed
    if problems := list(_untimely(kind.order, placed, phases)):
        raise CompositionError(problems)
    return tuple(sorted(placed, key=lambda one: phases[one.stage.name]))


def _without_anchors(spine: Sequence[str], stages: Sequence[Owned]) -> tuple[Placed, ...]:
    """The order if no stage has anchors, as in most kinds: what `order_chain` gives, without its sorting of graphs.

    Empty if there are anchors, or an error to find.
    """
    by_name = {one.item.name: one for one in stages}
    rest = [one for one in stages if one.item.name not in spine]
    if (
        (len(by_name), len(by_name.keys() & set(spine))) != (len(stages), len(spine))
        or any(one.item.after or one.item.before for one in stages)
        or (spine and not all(one.anchored for one in rest))
    ):
        return ()
    listed = [Placed(*by_name[name][:3], "distribution") for name in spine]
    return (*listed, *(Placed(*one[:3], "the end of the chain") for one in rest))


def _untimely(chain: str, placed: Sequence[Placed], phases: Mapping[str, int]) -> Iterator[Fault]:
    """Problems: stages that run in another phase than their anchors allow."""
    for one in placed:
        own = phases[one.stage.name]
        late = [("after", "before", name) for name in one.stage.after if phases.get(name, own) > own]
        early = [("before", "after", name) for name in one.stage.before if phases.get(name, own) < own]
        for side, other, name in (*late, *early):
            what = f"is anchored {side} {name!r}, but all stages of its phase run {other} that one"
            why = f"its {one.stage.name!r} {what}"
            yield Fault(f"{chain}: {one.stage.name!r} ({one.source}) {what}", one.plugin, why=why)
