"""`newel sessions verify`: what is wrong with a stored session is said."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

THEIRS = Path(__file__).parents[2] / "contrib" / "adk" / "sessions" / "data" / "adk-2.13.0-sqlite.db"


@pytest.fixture
def agent(project: Any) -> str:
    """An agent with the sessions of an import."""
    project.write("a.yaml", "name: shop\nmodel: 'echo:'\n")
    project.install_contrib("adk")
    assert project.newel("sessions", "import-adk", str(THEIRS)).exit_code == 0
    return "a.yaml"


def change(project: Any, statement: str) -> None:
    connection = sqlite3.connect(project.path / ".newel" / "sessions.db")
    with connection:
        assert connection.execute(statement).rowcount == 1
    connection.close()


def number_of(id_: str) -> str:
    return f"(SELECT number FROM sessions WHERE id = '{id_}')"


def test_what_was_imported_and_went_on_is_whole(project: Any, agent: str) -> None:
    assert project.newel("run", agent, "more", "--session", "plain", "--user", "ann").exit_code == 0
    result = project.newel("sessions", "verify", agent)
    assert result.exit_code == 0
    assert len(json.loads(result.stdout)) == 7
    assert [one for one in json.loads(result.stdout) if one["problems"]] == []


@pytest.mark.parametrize(
    ("statement", "session", "problem"),
    [
        ("DELETE FROM events WHERE sequence = 1 AND session = {}", "plain", "event 1: it is missing from the sequence"),
        ("UPDATE events SET data = '{{' WHERE sequence = 3 AND session = {}", "plain", "is damaged in the session"),
        ("UPDATE session_state SET value = '7' WHERE key = 'n' AND session = {}", "plain", "state 'n': it is not"),
        (
            "UPDATE events SET data = replace(data, 'grou0', 'grou2') WHERE sequence = 0 AND session = {}",
            "grounded",
            "event grou2: another event has the same id",
        ),
        (
            "UPDATE events SET data = replace(data, '\"c2\"', '\"c3\"') WHERE sequence = 2 AND session = {}",
            "tools",
            "no result of the call(s) c2",
        ),
        (
            "UPDATE events SET data = replace(data, '\"c2\"', '\"c3\"') WHERE sequence = 2 AND session = {}",
            "tools",
            "no call of the result(s) c3",
        ),
    ],
)
def test_what_is_wrong_is_said(
    project: Any, agent: str, statement: str, session: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(project, statement.format(number_of(session)))
    monkeypatch.setattr("newel.cli.sessions.to_terminal", lambda: True)
    result = project.newel("sessions", "verify", agent, session)
    assert result.exit_code == 1
    assert problem in result.stdout
    assert project.newel("sessions", "verify", agent, "waiting").stdout == "waiting of bob: ok\n"
