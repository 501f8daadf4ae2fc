"""Every parity scenario on distribution `adk` gives what a recorded release gave, except where a list says why not.

`pending.txt` holds the scenarios whose feature is not built yet, `disputed.txt` those where the recorded releases
contradict the specification, each with the test that pins the specified behaviour.
"""

from __future__ import annotations

import ast
import asyncio
import json
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MODULES = ("ns", "recorder", "compare", "run")


def entries(file: str) -> dict[str, str]:
    """Scenario id -> the note after ``#``."""
    lines = (HERE / file).read_text(encoding="utf-8").splitlines()
    found = [line.partition("#") for line in lines if line.strip() and not line.startswith("#")]
    return {name.strip(): note.strip() for name, _, note in found}


def harness() -> tuple[ModuleType, ModuleType]:
    """`run.py` and `compare.py`, which are scripts: they and their neighbours have names that others may have, too."""
    before = {name: sys.modules.pop(name) for name in MODULES if name in sys.modules}
    path = list(sys.path)
    sys.path.insert(0, str(HERE))
    try:
        return import_module("run"), import_module("compare")
    finally:
        sys.path[:] = path
        for name in MODULES:
            sys.modules.pop(name, None)
        sys.modules.update(before)


RUN, COMPARE = harness()
GOLDEN: dict[str, dict[str, Any]] = {
    file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted((HERE / "golden").glob("*.json"))
}
IDS = sorted({scenario for release in GOLDEN.values() for scenario in release})
PENDING = entries("pending.txt")
DISPUTED = entries("disputed.txt")


@cache
def scenarios() -> dict[str, Any]:
    """Scenario id -> its function."""
    return {scenario: function for scenario, _, function in RUN.discover(str(HERE / "scenarios"))}


def difference(scenario: str) -> str | None:
    """Where the result differs from each recorded release; None where it is identical to one."""
    namespace = RUN.Namespace("newel", "newel.types")
    got = COMPARE.strip_soft(asyncio.run(RUN.run_one(scenarios()[scenario], namespace, 30)))
    told = ""
    for release, recorded in GOLDEN.items():
        if scenario not in recorded:
            continue
        found = COMPARE.diff(COMPARE.strip_soft(recorded[scenario]), got)
        if found is None:
            return None
        where, expected, here = found
        told += f"\n{release} {where}\n  - {COMPARE.short(expected)}\n  + {COMPARE.short(here)}"
    return told


def case(scenario: str) -> Any:
    pending = PENDING.get(scenario)
    marks = [pytest.mark.xfail(strict=True, reason=pending)] if pending is not None else []
    return pytest.param(scenario, id=scenario, marks=marks)


@pytest.mark.parametrize("scenario", [case(scenario) for scenario in IDS])
def test_a_scenario(scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWEL_DISTRIBUTION", "adk")
    found = difference(scenario)
    if scenario in DISPUTED:
        assert found, f"{scenario} is identical to a recorded release: take it out of disputed.txt"
    else:
        assert not found, f"{scenario}{found}"


def test_the_lists_name_recorded_scenarios_and_say_why() -> None:
    assert set(scenarios()) == set(IDS)
    assert not PENDING.keys() & DISPUTED.keys()
    for scenario, note in {**PENDING, **DISPUTED}.items():
        assert scenario in IDS, scenario
        assert note, scenario


def test_what_is_disputed_is_pinned_by_a_test() -> None:
    for scenario, note in DISPUTED.items():
        assert any(release.get(scenario, {}).get("_contradicts") for release in GOLDEN.values()), scenario
        path, _, name = note.partition("::")
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, note
