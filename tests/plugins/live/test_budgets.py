"""Budgets and live runs: a run that no budget can count is refused where a limit holds, and says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.plugins.live.live_runs import Live, text, told

from newel.agents import RunConfig
from newel.budgets import Limit
from newel.testing import TURN_COMPLETE, WaitFor
from newel_kernel import ConfigurationError

SCRIPT: list[Any] = [WaitFor("content"), "Hello", TURN_COMPLETE]


def live(folder: Path, budgets: str) -> Live:
    file = folder / "mine.yaml"
    file.write_text(f"name: mine\nextends: standard\nsettings:\n  budgets: {budgets}\n")
    run = Live(SCRIPT, distribution=str(file))
    run.put(text("hi"))
    return run


def test_a_live_run_is_refused_where_a_limit_holds(tmp_path: Path) -> None:
    run = live(tmp_path, "{limits: [{per: user, money: 2}]}")
    with pytest.raises(ConfigurationError, match=r"budgets cannot count live connections.*\(per user\)"):
        run.events_of()
    assert run.model.requests == []


def test_a_limit_of_the_run_refuses_it_too(tmp_path: Path) -> None:
    run = live(tmp_path, "{}")
    with pytest.raises(ConfigurationError, match=r"\(per run\)"):
        run.events_of(config=RunConfig(budgets=[Limit(per="run", calls=3)]))


@pytest.mark.parametrize("budgets", ["{}", "{live: uncounted, limits: [{per: user, money: 2}]}"])
def test_without_limits_or_where_it_may_be_uncounted_it_runs(tmp_path: Path, budgets: str) -> None:
    assert [told(event) for event in live(tmp_path, budgets).events_of()] == ["root: Hello", "turn"]
