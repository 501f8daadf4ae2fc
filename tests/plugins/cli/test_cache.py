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
    assert first == "a: 10,000 tokens in 2 requests, 0% from the cache, 5,000 paid twice, 0 results cleared"
    assert second.endswith("5,000 tokens again: no event says why")


def test_a_chat_tells_the_same_when_asked(project: Any, agent: str) -> None:
    shown = project.newel("chat", agent, "--session", "s", stdin="/cache\n/quit\n").output
    assert "a: 10,000 tokens in 2 requests, 0% from the cache, 5,000 paid twice, 0 results cleared" in shown
