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
    if kind.open_ended:
        stages = [one._replace(anchored=True) for one in stages]
    placed = order_chain(kind.order, spine, stages, disabled)
    if problems := list(_untimely(kind.order, placed)):
        raise CompositionError(problems)
    return tuple(sorted(placed, key=lambda one: int(one.stage.phase)))


def _untimely(chain: str, placed: Sequence[Placed]) -> Iterator[Fault]:
    """Problems: stages that run in another phase than their anchors allow."""
    phases = {one.stage.name: one.stage.phase for one in placed}
    for one in placed:
        own = one.stage.phase
        late = [("after", "before", name) for name in one.stage.after if phases.get(name, own) > own]
        early = [("before", "after", name) for name in one.stage.before if phases.get(name, own) < own]
        for side, other, name in (*late, *early):
            what = f"is anchored {side} {name!r}, but all stages of its phase run {other} that one"
            why = f"its {one.stage.name!r} {what}"
            yield Fault(f"{chain}: {one.stage.name!r} ({one.source}) {what}", one.plugin, why=why)
