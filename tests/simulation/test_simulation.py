"""Owners that share a store keep what is promised, whatever befalls them: see docs/explanation/promises.md."""

from __future__ import annotations

import pytest
from tests.simulation.simulation import Simulation

STORES = ["sqlite", "postgres"]


@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize("store", STORES)
def test_owners_keep_what_is_promised(store: str, seed: int) -> None:
    simulation = Simulation(store, seed)
    simulation.run(15_000)
    assert simulation.place.promise.counts["appends"] > 20


@pytest.mark.parametrize("store", STORES)
def test_a_seed_is_a_run(store: str) -> None:
    """What happens depends on the seed alone, so that a broken promise can be looked at again."""

    def outcome() -> tuple[float, dict[str, int]]:
        simulation = Simulation(store, 7)
        simulation.run(5_000)
        return simulation.world.now, simulation.place.promise.counts

    assert outcome() == outcome()
