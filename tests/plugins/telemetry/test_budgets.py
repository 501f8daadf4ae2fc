"""What a budget decided is an event of the call's span: what it took, or which limit refused it."""

from __future__ import annotations

from typing import Any

import pytest

from newel.agents import LlmAgent, RunConfig
from newel.budgets import BudgetExceededError
from newel.models.scripted import ScriptedModel


def events(recording: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(event.name, dict(event.attributes)) for span in recording.spans for event in span.events]


def test_a_settled_call_says_what_it_took(play: Any, recording: Any) -> None:
    limits = [{"per": "user", "calls": 3, "tokens": 10**6}]
    play(
        LlmAgent(name="a", model=ScriptedModel("Tea.")),
        distribution="standard",
        run_config=RunConfig(budgets=limits),
    )
    ((name, facts),) = events(recording)
    assert name == "newel.budget"
    assert facts["newel.budget.state"] == "settled"
    assert facts["newel.budget.calls"] == 1
    assert facts["newel.budget.tokens"] > 0


def test_a_refused_call_says_which_limit_without_the_names_of_people(play: Any, recording: Any) -> None:
    def look() -> str:
        """Looks."""
        return "seen"

    agent = LlmAgent(name="a", model=ScriptedModel([{"call": "look"}, "Tea."]), tools=[look])
    config = RunConfig(budgets=[{"per": "user", "period": "day", "calls": 1}])
    with pytest.raises(BudgetExceededError):
        play(agent, distribution="standard", run_config=config)
    facts = [one for name, one in events(recording) if name == "newel.budget"][-1]
    assert facts == {
        "newel.budget.state": "refused",
        "newel.budget.per": "user",
        "newel.budget.period": "day",
        "newel.budget.unit": "calls",
        "newel.budget.limit": 1,
        "newel.budget.spent": 1,
    }


def test_without_limits_there_are_no_such_events(play: Any, recording: Any) -> None:
    play(LlmAgent(name="a", model=ScriptedModel("Tea.")), distribution="standard")
    assert events(recording) == []
