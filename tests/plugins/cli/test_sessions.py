"""`newel sessions` and `--continue`: stored conversations."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def agent(project: Any) -> str:
    """An agent with two sessions, `abcdef-1` and then `abcdef-2`, and one of somebody else's."""
    project.write("a.yaml", "name: a\nmodel: 'echo:'\n")
    for session, user, message in (
        ("abcdef-1", "user", "first words"),
        ("other", "eve", "of eve"),
        ("abcdef-2", "user", "second words"),
    ):
        assert project.newel("run", "a.yaml", message, "--session", session, "--user", user).exit_code == 0
    return "a.yaml"


def test_the_list_has_the_latest_first(project: Any, agent: str) -> None:
    listed = json.loads(project.newel("sessions", "list", agent).stdout)
    assert [one["id"] for one in listed] == ["abcdef-2", "other", "abcdef-1"]
    assert (listed[0]["begins_with"], listed[0]["event_count"], listed[0]["user_id"]) == ("second words", 2, "user")
    of_eve = json.loads(project.newel("sessions", "list", agent, "--user", "eve").stdout)
    assert [one["id"] for one in of_eve] == ["other"]


def test_the_list_as_a_table_cuts_ids_short(project: Any, agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr("newel.cli.sessions.to_terminal", lambda: True)
    shown = project.newel("sessions", "list", agent).stdout
    assert "abcdef-1" in shown
    assert "first words" in shown


def test_a_session_is_shown_and_exported_by_the_beginning_of_its_id(
    project: Any, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [json.loads(line) for line in project.newel("sessions", "show", agent, "oth").stdout.splitlines()]
    assert [line["author"] for line in lines] == ["user", "a"]
    exported = json.loads(project.newel("sessions", "export", agent, "other").stdout)
    assert (exported["id"], len(exported["events"]), exported["state"]) == ("other", 2, {})
    assert project.newel("sessions", "export", agent, "other", "-o", "out.json").exit_code == 0
    assert json.loads((project.path / "out.json").read_text()) == exported
    monkeypatch.setattr("newel.cli.sessions.to_terminal", lambda: True)
    assert "you> of eve\n" in project.newel("sessions", "show", agent, "other").stdout


def test_sessions_are_deleted_when_that_is_said(project: Any, agent: str) -> None:
    assert "cannot ask whether to delete other (of eve), as stdin is not a terminal; give --yes" in project.refused(
        "sessions", "delete", agent, "oth"
    )
    assert project.newel("sessions", "delete", agent, "oth", "abcdef-1", "--yes").stdout == (
        "deleted other\ndeleted abcdef-1\n"
    )
    assert [one["id"] for one in json.loads(project.newel("sessions", "list", agent).stdout)] == ["abcdef-2"]


def test_a_replay_asks_again_and_keeps_nothing(project: Any, agent: str, scripted: Callable[[str], str]) -> None:
    model = scripted("- text: another answer\n")
    result = project.newel("sessions", "replay", agent, "abcdef-1", "--model", model)
    assert result.stdout == "you> first words\nanother answer\n"
    assert len(json.loads(project.newel("sessions", "list", agent).stdout)) == 3


def test_continue_takes_the_last_session_of_the_user(project: Any, agent: str) -> None:
    assert project.newel("run", agent, "more", "--continue").exit_code == 0
    assert project.newel("chat", agent, "--continue", stdin="and more\n").exit_code == 0
    listed = {one["id"]: one["event_count"] for one in json.loads(project.newel("sessions", "list", agent).stdout)}
    assert listed == {"abcdef-2": 6, "other": 2, "abcdef-1": 2}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("sessions", "show", "a.yaml", "abcdef"), "2 sessions begin with 'abcdef': abcdef-2, abcdef-1; give more of"),
        (("sessions", "show", "a.yaml", "othre"), "the app 'a' has no session 'othre'; did you mean 'other'?"),
        (("sessions", "show", "a.yaml", "zzz"), "the app 'a' has no session 'zzz'; `newel sessions list` shows all 3"),
        (("sessions", "lst", "a.yaml"), "unknown command 'sessions lst'"),
        (("run", "a.yaml", "x", "--continue", "--session", "s"), "give either --session or --continue, not both"),
        (("run", "a.yaml", "x", "--continue", "--user", "bob"), "the user 'bob' has no session with 'a'; leave out"),
        (("sessions", "export", "a.yaml", "other", "-o", "no/such/file"), "no/such/file cannot be written: No such fi"),
    ],
)
def test_what_is_wrong(project: Any, agent: str, command: tuple[str, ...], message: str) -> None:
    assert project.refused(*command).startswith(message)


def test_a_session_is_continued_by_the_beginning_of_its_id(project: Any) -> None:
    project.write("a.yaml", "name: a\nmodel: 'echo:'\n")
    first, second = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", "0a1b2c3f-4e5f-6071-8293-a4b5c6d7e8f9"
    for id_ in (first, second):
        project.newel("run", "a.yaml", "hi", "--session", id_)
    assert project.newel("run", "a.yaml", "more", "--session", first[:8]).exit_code == 0
    assert project.newel("chat", "a.yaml", "--session", second[:13], stdin="more\n").exit_code == 0
    listed = json.loads(project.newel("sessions", "list", "a.yaml").stdout)
    assert {one["id"]: one["event_count"] for one in listed} == {first: 4, second: 4}


def test_an_id_that_begins_no_session_is_that_of_a_new_one_and_one_that_begins_several_is_refused(project: Any) -> None:
    project.write("a.yaml", "name: a\nmodel: 'echo:'\n")
    first, second = (f"abcdef01-0000-4000-a000-00000000000{n}" for n in (1, 2))
    for id_ in (first, second, "abcdef", "20240101-notes", "20240101"):  # an id that people chose has no short form
        assert project.newel("run", "a.yaml", "hi", "--session", id_).exit_code == 0
    refused = project.refused("run", "a.yaml", "hi", "--session", "abcdef01")
    assert refused.startswith("2 sessions begin with 'abcdef01': abcdef01-")
    assert project.newel("run", "a.yaml", "hi", "--session", "20240101").exit_code == 0
    listed = json.loads(project.newel("sessions", "list", "a.yaml").stdout)
    counts = {one["id"]: one["event_count"] for one in listed}
    assert counts == {first: 2, second: 2, "abcdef": 2, "20240101-notes": 2, "20240101": 4}
