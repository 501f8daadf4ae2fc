"""Owners that share a store keep what is promised, whatever befalls them: see docs/explanation/promises.md."""

from __future__ import annotations

import pytest
from tests.simulation.mutants import MUTANTS
from tests.simulation.simulation import Simulation
from tests.simulation.world import Broken

STORES = ["sqlite", "postgres", "memory"]


@pytest.mark.parametrize("seed", [2, 3, 5, 6])
@pytest.mark.parametrize("store", STORES)
def test_owners_keep_what_is_promised(store: str, seed: int) -> None:
    simulation = Simulation(store, seed)
    simulation.run(20_000)
    assert simulation.place.promise.counts["appends"] > 20


@pytest.mark.parametrize("store", STORES)
def test_a_seed_is_a_run(store: str) -> None:
    """What happens depends on the seed alone, so that a broken promise can be looked at again."""

    def outcome() -> tuple[float, dict[str, int]]:
        simulation = Simulation(store, 7)
        simulation.run(4_000)
        return simulation.world.now, simulation.place.promise.counts

    assert outcome() == outcome()


#: A mend, the store, and a seed that finds the break without it. `steps_until_found` looks for others.
FOUND = [
    ("renewed when the queue is idle", "sqlite", 2),
    ("renewed in the event loop", "postgres", 2),
    ("ended by a fork", "sqlite", 12),
    ("ended by a fork", "postgres", 2),
    ("watches while it asks", "sqlite", 15),
    ("no margin", "sqlite", 2),
    ("no margin", "postgres", 14),
    ("wall clock", "sqlite", 1),
    ("belief without end", "sqlite", 1),
    ("belief without end", "postgres", 1),
    ("no confirmation", "sqlite", 1),
    ("no confirmation", "postgres", 1),
    ("each waits again", "sqlite", 3),
    ("one after another", "postgres", 1),
    ("cancelling is not heard", "sqlite", 5),
    ("cancelling is not heard", "postgres", 7),
    ("locked rows keep their worker", "postgres", 2),
    ("no lock timeout", "postgres", 5),
    ("shared keys in any order", "postgres", 24),
    ("the session is locked first", "postgres", 9),
    ("no version check", "sqlite", 1),
    ("no version check", "postgres", 1),
    ("every owner counts as dead", "sqlite", 1),
    ("every owner counts as dead", "postgres", 1),
    ("a store that forgets", "sqlite", 4),
    ("a store that forgets", "postgres", 2),
    ("threads share without a lock", "memory", 1),
    ("values stay the caller's", "memory", 1),
    ("copies share the state", "memory", 1),
    ("views miss what others append", "memory", 1),
    ("views outlive their session", "memory", 29),
    ("a claim keeps nobody out", "memory", 1),
    ("followers read what is at hand", "memory", 8),
]


@pytest.mark.parametrize(("name", "store", "seed"), FOUND)
def test_without_a_mend_its_break_is_found(name: str, store: str, seed: int) -> None:
    (mutant,) = [one for one in MUTANTS if one.name == name and store in one.stores]
    with mutant.apply(), pytest.raises(Broken):
        Simulation(store, seed, mutant.only).run(10_000)
