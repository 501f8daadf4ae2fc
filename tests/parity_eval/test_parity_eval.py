"""Every evaluation scenario on distribution `adk` gives what a recorded release gave, or what a ruling chose."""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
MODULES = ("ns", "recorder", "compare", "run", "score", "evalkit")


def harness() -> tuple[Any, Any, Any, dict[str, Any]]:
    """The scripts and the scenarios; they and their neighbours have names that others may have, too."""
    before = {name: sys.modules.pop(name) for name in MODULES if name in sys.modules}
    path = list(sys.path)
    sys.path[:0] = [str(HERE), str(HERE.parent / "parity")]
    try:
        score = import_module("score")  # first: another of that name lies further back on the path
        run, kit = import_module("run"), import_module("evalkit")
        return run, kit, score, {name: function for name, _, function in run.discover(str(HERE / "scenarios"))}
    finally:
        sys.path[:] = path
        for name in MODULES:
            sys.modules.pop(name, None)
        sys.modules.update(before)


RUN, KIT, SCORE, SCENARIOS = harness()
GOLDENS = SCORE.load(str(HERE / "golden"))


async def result(scenario: str) -> Any:
    recorder = KIT.EvalRecorder(RUN.Namespace("newel", "newel.types"))
    await asyncio.wait_for(SCENARIOS[scenario](recorder.ns, recorder), 600)
    return await recorder.result()


@pytest.mark.parametrize("scenario", sorted(SCENARIOS))
def test_a_scenario(scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWEL_DISTRIBUTION", "adk")
    monkeypatch.setattr(logging.root, "disabled", True)
    verdict, detail = SCORE.verdict(GOLDENS, scenario, asyncio.run(result(scenario)))
    assert verdict == "same", detail


def test_a_folder_s_random_name_is_no_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message names the agent's module, which has the name of its folder: one ending in v2 was read as a metric."""
    monkeypatch.setattr(tempfile, "_get_candidate_names", lambda: iter(f"{number}_div2" for number in range(1000)))
    test_a_scenario("agent_evaluator/pass_and_fail", monkeypatch)
