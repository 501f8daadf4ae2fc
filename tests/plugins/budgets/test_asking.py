"""At a limit that says so a person is asked, before the model is: the answer raises the limit, once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.budgets.test_spending import Shop, distribution

from newel.agents import LlmAgent, ParallelAgent
from newel.apps import App, ResumabilityConfig
from newel.budgets import BudgetExceededError, ledger_of
from newel.models.scripted import ScriptedModel
from newel_kernel import ConfigurationError, Event
from newel_types import Content, FunctionCall, FunctionResponse, Part

ASKING = {"per": "session", "calls": 1, "at_limit": "ask"}
INPUT = "adk_request_input"


def look() -> str:
    """Looks."""
    return "seen"


def shop(composed: str, *, resumable: bool) -> Shop:
    call = FunctionCall(name="look", args={})
    agent = LlmAgent(name="a", model=ScriptedModel([call, call, "Done.", "More."]), tools=[look])
    config = ResumabilityConfig(is_resumable=resumable)
    return Shop(None, composed, app=App(name="shop", root_agent=agent, resumability_config=config))


def question(events: list[Event]) -> FunctionCall:
    """The only question that the events put, which is in the last one."""
    calls = [call for event in events for call in event.get_function_calls() if call.name == INPUT]
    assert [call.id for call in calls] == list(events[-1].long_running_tool_ids or ())
    return calls[0]


def answer(asked: FunctionCall, value: object) -> Content:
    response = FunctionResponse(id=asked.id, name=INPUT, response={"result": value})
    return Content(role="user", parts=[Part(function_response=response)])


def texts(events: list[Event]) -> list[str | None]:
    return [part.text for event in events if event.content for part in event.content.parts or () if part.text]


@pytest.mark.parametrize("resumable", [True, False])
def test_a_person_raises_the_limit_and_the_run_goes_on(tmp_path: Path, resumable: bool) -> None:
    async def check() -> None:
        one = shop(distribution(tmp_path, ASKING), resumable=resumable)
        asked = question(await one.ask())
        args: Any = asked.args
        assert args["message"] == (
            "the budget of this session is used up: 1 call of 1 call spent. By how many calls may it be raised? "
            "0 ends the run."
        )
        assert args["payload"]["spent"] == args["payload"]["limit"] == 1
        again = question(await one.ask(answer(asked, 1)))  # type: ignore[arg-type]
        events = await one.ask(answer(again, "5"))  # type: ignore[arg-type]
        assert texts(events) == ["Done."]
        (account,) = await ledger_of(one.runner.composition, one.store).accounts()
        assert (account.spent, account.raised) == (3, 6)
        assert texts(await one.ask()) == ["More."]

    asyncio.run(check())


def test_zero_ends_the_run(tmp_path: Path) -> None:
    async def check() -> None:
        one = shop(distribution(tmp_path, ASKING), resumable=False)
        asked = question(await one.ask())
        with pytest.raises(BudgetExceededError, match="1 call of 1 call spent"):
            await one.ask(answer(asked, 0))  # type: ignore[arg-type]

    asyncio.run(check())


@pytest.mark.parametrize("value", [-3, "-3", float("nan"), "1e400", 10**30])
def test_an_answer_by_which_no_limit_can_be_raised_is_none_and_the_person_is_asked_again(
    tmp_path: Path, value: Any
) -> None:
    async def check() -> None:
        one = shop(distribution(tmp_path, ASKING), resumable=False)
        asked = question(await one.ask())
        again = question(await one.ask(answer(asked, value)))  # type: ignore[arg-type]
        assert texts(await one.ask(answer(again, 5))) == ["Done."]  # type: ignore[arg-type]
        (account,) = await ledger_of(one.runner.composition, one.store).accounts()
        assert account.raised == 5

    asyncio.run(check())


def test_an_answer_of_less_than_a_store_can_count_says_so(tmp_path: Path) -> None:
    async def check() -> None:
        one = shop(distribution(tmp_path, ASKING), resumable=False)
        asked = question(await one.ask())
        with pytest.raises(ConfigurationError, match=r"0\.25 calls cannot be counted: it is not from 1 to"):
            await one.ask(answer(asked, 0.25))  # type: ignore[arg-type]

    asyncio.run(check())


def test_an_answer_acts_once_whoever_reads_it_again(make_sessions: Any) -> None:
    async def check() -> None:
        store = make_sessions()
        one = Shop(LlmAgent(name="a", model=ScriptedModel("One.")), "standard", session_service=store)
        ledger = ledger_of(one.runner.composition, store)
        for _ in range(2):
            await ledger.raise_limit("[]", "calls", 3, once="question")
        await ledger.raise_limit("[]", "calls", 2)
        assert [account.raised for account in await ledger.accounts({"[]", "other"})] == [5]
        assert await ledger.accounts({"other"}) == []
        await store.close()

    asyncio.run(check())


def test_agents_in_parallel_ask_each_and_go_on_together(tmp_path: Path) -> None:
    async def check() -> None:
        agents = [
            LlmAgent(name=name, model=ScriptedModel([FunctionCall(name="look", args={}), "Done."]), tools=[look])
            for name in ("a", "b")
        ]
        limit = {**ASKING, "calls": 2}
        config = ResumabilityConfig(is_resumable=True)
        app = App(name="shop", root_agent=ParallelAgent(name="all", sub_agents=agents), resumability_config=config)
        one = Shop(None, distribution(tmp_path, limit), app=app)
        events = await one.ask()
        calls = [call for event in events for call in event.get_function_calls() if call.name == INPUT]
        assert len(calls) == 2  # each agent waits for an answer of its own
        parts = [part for call in calls for part in answer(call, 1).parts or ()]
        ended = await one.ask(Content(role="user", parts=parts))  # type: ignore[arg-type]
        assert texts(ended) == ["Done.", "Done."]
        (account,) = await ledger_of(one.runner.composition, one.store).accounts()
        assert (account.spent, account.raised) == (4, 2)

    asyncio.run(check())
