"""Budgets that processes share: 64 runs in four of them overdraw by one call at most; one that is killed is counted."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.budgets.spender import MOST_TOKENS, opened

from newel.budgets import ledger_of
from newel.contexts.limits import stored_amount
from newel_compose import compose

SPENDER = Path(__file__).with_name("spender.py")
#: Dollars of a token; calls cost up to 0.01.
TOKEN = 10 / 1_000_000
LONGEST = 300


@pytest.fixture(params=["sqlite", "postgres"])
def uri(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store for several processes."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/s.db"
    postgres: Callable[[], str] = request.getfixturevalue("postgres")
    return postgres()


def distribution(folder: Path, limit: dict[str, Any], lease_seconds: float = 60.0) -> str:
    own = {
        "limits": [limit],
        "prices": {"caller": {"input": 0, "output": TOKEN * 1_000_000}},
        "lease_seconds": lease_seconds,
    }
    (folder / "d.yaml").write_text(json.dumps({"name": "d", "extends": "standard", "settings": {"budgets": own}}))
    return str(folder / "d.yaml")


def started(composed: str, uri: str, seed: int, runs: int, *hang: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(SPENDER), composed, uri, str(seed), str(runs), *hang]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def ended(processes: list[subprocess.Popen[str]]) -> list[dict[str, Any]]:
    outputs = [process.communicate(timeout=LONGEST)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return [json.loads(output) for output in outputs]


def spent(composed: str, uri: str) -> int:
    """What the only account shows, in nanodollars or calls."""

    async def look() -> int:
        composition = compose(composed)
        store: Any = opened(uri)
        (account,) = await ledger_of(composition, store).accounts()
        await store.close()
        assert account.held == 0
        return account.spent

    return asyncio.run(look())


def test_64_runs_in_four_processes_overdraw_by_one_call_at_most(uri: str, tmp_path: Path) -> None:
    limit = 0.25
    composed = distribution(tmp_path, {"per": "app", "money": limit})
    results = ended([started(composed, uri, seed, 16) for seed in range(4)])
    costs = [cost for result in results for cost in result["costs"]]
    assert sum(result["refused"] for result in results) == 64
    assert limit <= sum(costs) * TOKEN < limit + MOST_TOKENS * TOKEN
    assert spent(composed, uri) == stored_amount("money", TOKEN) * sum(costs)


def test_64_runs_in_four_processes_make_exactly_as_many_calls_as_there_are(uri: str, tmp_path: Path) -> None:
    composed = distribution(tmp_path, {"per": "all", "period": "month", "calls": 70})
    results = ended([started(composed, uri, seed, 16) for seed in range(4)])
    assert sum(len(result["costs"]) for result in results) == 70 == spent(composed, uri)


def test_a_killed_process_is_counted_at_its_most_and_holds_up_nobody_for_ever(uri: str, tmp_path: Path) -> None:
    limit = MOST_TOKENS * TOKEN * 4
    account = {"per": "app", "money": limit}
    with started(distribution(tmp_path, account, lease_seconds=0.5), uri, 9, 2, "hang") as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == killed.stdout.readline() == "hanging\n"
        killed.kill()
    composed = distribution(tmp_path, account)
    results = ended([started(composed, uri, 1, 4)])
    most = MOST_TOKENS * 2 * TOKEN  # of the calls that were killed
    total = sum(results[0]["costs"]) * TOKEN
    assert limit <= most + total < limit + MOST_TOKENS * TOKEN
    assert spent(composed, uri) == stored_amount("money", TOKEN) * (sum(results[0]["costs"]) + 2 * MOST_TOKENS)
