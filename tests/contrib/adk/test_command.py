"""`newel sessions import-adk`: what the command says, and where it leaves the sessions."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent / "sessions" / "data"
THEIRS = str(DATA / "adk-2.13.0-sqlite.db")


@pytest.fixture(autouse=True)
def _installed(project: Any) -> None:
    project.install_contrib("adk")


def test_sessions_come_over_and_are_listed(project: Any) -> None:
    project.write("a.yaml", "name: shop\nmodel: 'echo:'\n")
    report = json.loads(project.newel("sessions", "import-adk", THEIRS).stdout)
    assert (report["complete"], report["sessions_added"], report["dry_run"]) == (True, 7, False)
    assert "SqliteSessionService" in report["source"]
    assert "in the order of their rows" in report["order"]
    listed = json.loads(project.newel("sessions", "list", "a.yaml", "--user", "ann").stdout)
    assert {one["id"]: one["event_count"] for one in listed} == {"plain": 4, "grounded": 3, "files": 3, "compacted": 6}
    again = json.loads(project.newel("sessions", "import-adk", f"sqlite+aiosqlite:///{THEIRS}").stdout)
    assert (again["events_added"], again["sessions_there"]) == (0, 7)


def test_a_dry_run_writes_nothing(project: Any) -> None:
    result = project.newel("sessions", "import-adk", THEIRS, "--user", "bob", "--dry-run")
    assert json.loads(result.stdout)["sessions_added"] == 3
    assert project.files() == set()


def test_what_did_not_come_over_is_shown(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (project.path / "theirs.db").write_bytes(Path(THEIRS).read_bytes())
    with sqlite3.connect(project.path / "theirs.db") as connection:
        connection.execute("UPDATE events SET event_data = '{' WHERE id = 'plai1'")
        connection.execute("DELETE FROM events WHERE event_data LIKE '%response%' AND session_id = 'tools'")
        connection.execute("DELETE FROM sessions WHERE id = 'files'")
        connection.execute(
            "UPDATE events SET event_data = json_set(event_data, '$.actions.of_tomorrow', 1) WHERE id = 'plai0'"
        )
    connection.close()
    monkeypatch.setattr("newel_adk.command.to_terminal", lambda: True)
    result = project.newel("sessions", "import-adk", "theirs.db", "--sessions", "sqlite:///ours.db")
    assert result.exit_code == 1
    assert "cannot be read, and is left out:\n  events shop / ann / plain / plai1: event_data" in result.stdout
    assert "events shop / ann / files / file0: there is no such session" in result.stdout
    assert "a call has no result" in result.stdout
    assert "the field 'of_tomorrow' of actions is not known here; 1 event(s)" in result.stdout
    assert result.stdout.endswith("added 6 sessions and 24 events, continued 0 sessions; 0 were already there\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("none.db",), "there is no database"),
        ((), "Missing argument 'URL'"),
        ((THEIRS, "--time-zone", "Mars"), "'Mars' is not a time zone"),
        ((THEIRS, "--sessions", "memory:"), "InMemorySessionService cannot take in sessions"),
        ((THEIRS, "--sessions", f"sqlite:///{THEIRS}"), "the session store"),
    ],
)
def test_what_is_wrong(project: Any, options: tuple[str, ...], message: str) -> None:
    assert message in project.refused("sessions", "import-adk", *options)


def test_only_the_command_loads_the_reader(project: Any) -> None:
    code = (
        "import sys; from newel_compose import compose; from newel.cli.kinds import Command; "
        "print(compose().registry.find(Command, 'sessions import-adk').name, "
        "[one for one in sys.modules if one.startswith('newel_adk')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=project.path, env=project.env
    )
    assert done.stdout == "sessions import-adk ['newel_adk', 'newel_adk.plugin']\n"
    assert "import-adk" in project.newel("sessions", "--help").stdout
