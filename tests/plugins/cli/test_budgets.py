"""`newel budgets`: accounts are listed, raised and reset; a refused run goes on afterwards."""

from __future__ import annotations

import json
from typing import Any

import pytest

from newel_kernel import seam

DISTRIBUTION = """\
name: mine
extends: standard
settings:
  budgets:
    limits:
      - {per: user, calls: 1, money: 2.5}
"""


@pytest.fixture
def agent(project: Any) -> str:
    """An agent whose user has used up all calls."""
    project.write("newel.yaml", DISTRIBUTION)
    project.write("a.yaml", "name: a\nmodel: 'echo:'\n")
    assert project.newel("run", "a.yaml", "hello", "--session", "s").exit_code == 0
    return "a.yaml"


def accounts(project: Any, agent: str) -> dict[str, dict[str, Any]]:
    return {one["unit"]: one for one in json.loads(project.newel("budgets", "list", agent).stdout)}


def test_a_refused_run_goes_on_after_its_limit_is_raised(project: Any, agent: str) -> None:
    refused = project.newel("run", agent, "again", "--session", "s")
    assert refused.exit_code == 1
    refusal = refused.output
    assert "the budget of this user is used up: 1 call of 1 call spent" in refusal
    assert "(account user/a/user; `newel budgets raise` gives it more)" in refusal
    assert (
        project.newel("budgets", "raise", agent, "user/a", "calls", "1").stdout == "user/a/user may have 1 call more\n"
    )
    assert project.newel("run", agent, "again", "--session", "s").exit_code == 0
    calls = accounts(project, agent)["calls"]
    assert calls == {"account": "user/a/user", "unit": "calls", "spent": 2, "limit": 2, "raised": 1, "under_way": 0}


def test_an_account_begins_again(project: Any, agent: str) -> None:
    assert project.newel("budgets", "reset", agent, "user/a/user").stdout == "user/a/user begins again\n"
    assert accounts(project, agent)["calls"]["spent"] == 0
    assert project.newel("run", agent, "again", "--session", "s").exit_code == 0


def test_accounts_are_a_table_on_a_terminal(project: Any, agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr("newel.cli.budgets.to_terminal", lambda: True)
    shown = project.newel("budgets", "list", agent).stdout
    assert "user/a/user" in shown
    assert "$2.50" in shown


def test_an_account_that_is_not_there_is_named(project: Any, agent: str) -> None:
    refusal = project.refused("budgets", "raise", agent, "user/b", "calls", "1")
    assert "there is no account 'user/b' of calls" in refusal
    assert "there is no account 'user/a' of tokens" in project.refused(
        "budgets", "raise", agent, "user/a", "tokens", "1"
    )


RUNS = DISTRIBUTION.replace(
    "{per: user, calls: 1, money: 2.5}", "{per: run, calls: 5}\n      - {per: session, calls: 9}"
)


def shown(project: Any) -> set[str]:
    return {one["account"].split("/")[0] for one in json.loads(project.newel("budgets", "list", "a.yaml").stdout)}


def test_stale_accounts_are_pruned(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("newel.yaml", RUNS)
    project.write("a.yaml", "name: a\nmodel: 'echo:'\n")
    assert project.newel("run", "a.yaml", "hello", "--session", "s").exit_code == 0
    assert "removed 0 in all" in project.newel("budgets", "prune", "a.yaml").stderr
    now = seam.clock()
    monkeypatch.setattr(seam, "clock", lambda: now + 8 * 86_400)
    assert (
        "would remove 1 in all" in project.newel("budgets", "prune", "a.yaml", "--older-than", "7d", "--dry-run").stderr
    )
    assert shown(project) == {"run", "session"}
    pruned = project.newel("budgets", "prune", "a.yaml", "--older-than", "7d")
    assert pruned.stdout.startswith("run/a/user/s/")
    assert shown(project) == {"session"}


def test_the_accounts_of_a_deleted_session_are_gone(project: Any) -> None:
    project.write("newel.yaml", RUNS)
    project.write("a.yaml", "name: a\nmodel: 'echo:'\n")
    assert project.newel("run", "a.yaml", "hello", "--session", "s").exit_code == 0
    assert project.newel("sessions", "delete", "a.yaml", "s", "--yes").exit_code == 0
    assert shown(project) == set()
