"""`newel cache`: the report of a stored session, as JSON and for people."""

from __future__ import annotations

import json
from typing import Any

import pytest

SCRIPT = """\
steps:
  - response: {content: {role: model, parts: [{text: One.}]}, usage_metadata: {prompt_token_count: 5000}}
"""


@pytest.fixture
def agent(project: Any) -> str:
    """An agent with a session of two requests, the second of which paid for the first again."""
    project.write("s.yaml", SCRIPT)
    project.write("a.yaml", "name: a\nmodel: script:s.yaml\n")
    for message in ("hello", "again"):
        assert project.newel("run", "a.yaml", message, "--session", "s").exit_code == 0
    return "a.yaml"


def test_the_report_names_what_was_paid_twice(project: Any, agent: str) -> None:
    (report,) = json.loads(project.newel("cache", agent, "s").stdout)
    assert (report["agent"], report["requests"], report["hit_ratio"]) == ("a", 2, 0.0)
    assert report["paid_twice"] == 5_000
    assert [one["broken_by"] for one in report["breaks"]] == ["no event says why"]


def test_people_get_a_line_for_each_agent_and_each_break(
    project: Any, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr("newel.cli.cache.to_terminal", lambda: True)
    shown = project.newel("cache", agent, "s").stdout
    first, second = shown.splitlines()
    assert first == "a: 10,000 tokens in 2 requests, 0% from the cache; 5,000 paid twice, 0 results cleared"
    assert second.endswith("5,000 tokens again: no event says why")


def test_a_chat_tells_the_same_when_asked(project: Any, agent: str) -> None:
    shown = project.newel("chat", agent, "--session", "s", stdin="/cache\n/quit\n").output
    assert "a: 10,000 tokens in 2 requests, 0% from the cache; 5,000 paid twice, 0 results cleared" in shown


def test_a_rehearsal_tells_that_nothing_changed(project: Any, agent: str) -> None:
    (report,) = json.loads(project.newel("cache", agent, "s", "--why").stdout)
    told = [one["broken_by"] for one in report["breaks"]]
    assert told == ["nothing that was sent before has changed; the provider did not keep it"]


CLOCK = """\
from itertools import count

from newel.agents import LlmAgent

times = count()
root_agent = LlmAgent(name="a", model="script:s.yaml", instruction=lambda _: f"It is {next(times)} o'clock.")
"""


def test_a_rehearsal_names_the_step_that_changed_the_prefix(project: Any) -> None:
    project.write("s.yaml", SCRIPT)
    project.write("clock/agent.py", CLOCK)
    for message in ("hello", "again"):
        assert project.newel("run", "clock", message, "--session", "s").exit_code == 0
    (report,) = json.loads(project.newel("cache", "clock", "s", "--why").stdout)
    assert [one["broken_by"] for one in report["breaks"]] == ["instructions: the instruction changed"]


def test_a_run_tells_what_it_sent_when_asked(project: Any, agent: str) -> None:
    shown = project.newel("run", agent, "once more", "--session", "s", "--context")
    assert shown.stdout == "One.\n"
    assert shown.stderr.splitlines()[-2:] == [
        "a sent 5,000 tokens in 1 request, none of them from a cache",
        "  5,000 tokens were sent before and paid again: no event says why",
    ]
    assert "tokens" not in project.newel("run", agent, "and again", "--session", "s").stderr


def test_a_chat_tells_after_each_turn_while_it_is_on(project: Any, agent: str) -> None:
    project.write("s.yaml", SCRIPT + SCRIPT.partition("\n")[2] * 2)
    lines = "/context on\none\ntwo\n/context off\nthree\n/context\n/context maybe\n/quit\n"
    shown = project.newel("chat", agent, "--session", "t", stdin=lines).output
    assert shown.count("a sent 5,000 tokens in 1 request") == 3  # two turns, and the third when it was asked for
    assert "nothing that was sent before has changed; the provider did not keep it" in shown
    assert "/context takes on, off or nothing, not 'maybe'" in shown


def test_a_chat_in_which_nothing_was_said_has_sent_nothing(project: Any, agent: str) -> None:
    assert "nothing was sent yet" in project.newel("chat", agent, stdin="/context\n/quit\n").output
