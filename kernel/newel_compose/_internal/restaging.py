"""Restaging: a composition whose stages are replaced in their places, for example by stages that measure them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from newel_compose._internal.composition import Composition
from newel_compose._internal.distribution import CHAINS
from newel_compose._internal.ordering import Placed
from newel_kernel import Stage, Stash


def restaged(composition: Composition, change: Callable[[Placed], Stage]) -> Composition:
    """`composition` with what `change` makes of each stage, in the same place and from the same provider.

    A stage that `change` returns unchanged stays. The new composition has a stash of its own, because values in the
    old one may have been made of the old stages.
    """
    placed = {
        order: tuple(one._replace(stage=change(one)) for one in stages) for order, stages in composition.placed.items()
    }
    changed = {
        id(old.stage): new.stage
        for order, stages in composition.placed.items()
        for old, new in zip(stages, placed[order], strict=True)
    }
    return replace(
        composition,
        placed=placed,
        registry=composition.registry.with_items(lambda item: changed.get(id(item), item)),
        stash=Stash(),
        **{chain: tuple(one.stage for one in placed[chain]) for chain in CHAINS},  # type: ignore[arg-type]
    )
