"""A sample of the random trees, as the releases made them; `random_trees.py` compares any number on demand."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).parent
MODULES = ("ns", "recorder", "compare", "random_known", "random_trees")


def script() -> ModuleType:
    """`random_trees.py`, whose neighbours have names that others may have, too."""
    before = {name: sys.modules.pop(name) for name in MODULES if name in sys.modules}
    path = list(sys.path)
    sys.path.insert(0, str(HERE))
    try:
        return import_module("random_trees")
    finally:
        sys.path[:] = path
        for name in MODULES:
            sys.modules.pop(name, None)
        sys.modules.update(before)


TREES = script()
#: Seed, the release, and what it made of the seed's plan.
SAMPLE: list[tuple[int, str, Any]] = [
    tuple(json.loads(line)) for line in (HERE / "random_sample.jsonl").read_text(encoding="utf-8").splitlines()
]  # type: ignore[assignment]
#: Seed, the rules that know how newel differs from each of the releases, and what these made of the seed's plan.
DIFFERENCES: list[tuple[int, list[str], list[Any]]] = [
    tuple(json.loads(line)) for line in (HERE / "random_differences.jsonl").read_text(encoding="utf-8").splitlines()
]  # type: ignore[assignment]


@pytest.mark.parametrize(("seed", "release", "recorded"), SAMPLE, ids=[f"{seed}-{of}" for seed, of, _ in SAMPLE])
def test_a_seed(seed: int, release: str, recorded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWEL_DISTRIBUTION", "adk")
    namespace = TREES.Namespace("newel", "newel.types")
    found = TREES.diff(recorded, asyncio.run(TREES.run_seed(seed, namespace)))
    assert found is None, f"{release} {found}"


@pytest.mark.parametrize(("seed", "rules", "recorded"), DIFFERENCES, ids=[f"{seed}" for seed, _, _ in DIFFERENCES])
def test_a_seed_that_differs(seed: int, rules: list[str], recorded: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWEL_DISTRIBUTION", "adk")
    made = asyncio.run(TREES.run_seed(seed, TREES.Namespace("newel", "newel.types")))
    assert TREES.difference(made, recorded) is not None
    assert TREES.known.explain(TREES.Planner(seed).plan(), made, recorded) == rules


def test_every_rule_is_written_down_and_has_a_seed() -> None:
    page = (HERE / "random_trees.md").read_text(encoding="utf-8")
    written = {
        name
        for line in page.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    seen = {rule for _, rules, _ in DIFFERENCES for rule in rules}
    assert {rule.__name__ for rule in TREES.known.KNOWN} == written == seen


def test_a_plan_is_the_same_whenever_it_is_made() -> None:
    for seed in (*range(50), *range(TREES.GRAPHS, TREES.GRAPHS + 20)):
        assert TREES.Planner(seed).plan() == TREES.Planner(seed).plan()
