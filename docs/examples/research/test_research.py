"""The research graph: workers run side by side, a source that is away for a moment is tried again."""

from __future__ import annotations

import asyncio
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from newel.testing import Conversation, Turn


@pytest.fixture
def agent() -> ModuleType:
    """The module agent.py, fresh for each test."""
    spec = spec_from_file_location("research_agent", Path(__file__).with_name("agent.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ask(agent: ModuleType, question: str) -> Turn:
    return Conversation(agent.root_agent).say(question)


def test_each_topic_is_in_the_report_in_the_order_of_the_question(agent: ModuleType) -> None:
    lines = ask(agent, "lakes, rivers and volcanoes").text.splitlines()
    assert [line.split()[0] for line in lines] == ["Lakes:", "Rivers:", "Nothing"]


@pytest.mark.parametrize("question", ["volcanoes", "?!"])
def test_where_nothing_is_found_the_answer_says_so(agent: ModuleType, question: str) -> None:
    assert ask(agent, question).text == f"The library has nothing about {question!r}."


def test_three_workers_run_side_by_side_and_no_more(agent: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    at_work, most = 0, 0
    together = asyncio.Event()

    async def slow(topic: str) -> list[str]:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        if at_work == 3:
            together.set()
        await together.wait()
        at_work -= 1
        return [topic]

    monkeypatch.setattr(agent, "search", slow)
    assert ask(agent, "one two three four five").text.count("\n") == 4
    assert most == 3


def test_a_source_that_is_away_is_tried_again_and_the_log_tells(
    agent: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[str] = []

    async def away(topic: str) -> list[str]:
        tries.append(topic)
        if len(tries) < 3:
            raise ConnectionError("the library is closed")
        return ["A fact."]

    monkeypatch.setattr(agent, "search", away)
    turn = ask(agent, "rivers")
    assert turn.text == "Rivers: A fact."
    assert [event.error_code for event in turn if event.error_code] == ["ConnectionError", "ConnectionError"]


def test_where_it_stays_away_the_run_fails_with_its_error(agent: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(topic: str) -> list[str]:
        raise ConnectionError("the library is closed")

    monkeypatch.setattr(agent, "search", away)
    with pytest.raises(ConnectionError, match="closed"):
        ask(agent, "rivers")
