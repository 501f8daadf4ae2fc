"""What stands around an invocation: prologues before and after the message's hooks, epilogues after the run's."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.testing import ScriptedModel
from newel_kernel import Epilogue, Event, LlmCallsLimitExceededError, Prologue, RunConfig, hookimpl
from newel_types import Content, Part


def agent(*steps: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name="waiter", model=ScriptedModel(steps or ["tea"]), **fields)


def note(words: str, **fields: Any) -> Event:
    return Event(author="waiter", invocation_id="e-1", message=words, **fields)


def words(events: Sequence[Event]) -> list[str | None]:
    return [part.text for event in events for part in (event.content.parts or () if event.content else ())]


def asked(ctx: Any) -> str:
    return str(ctx.user_content.parts[0].text)


class Prologues:
    """Two prologues before the hooks see the message, two after, and the hook, which changes it."""

    name = "prologues"

    def __init__(self) -> None:
        self.log: list[str] = []

    @hookimpl
    def register_prologues(self) -> list[Prologue]:
        def plain(when: str) -> Any:
            return lambda ctx: self.log.append(f"{when} plain: {asked(ctx)}")

        def writing(when: str, **fields: Any) -> Any:
            async def run(ctx: Any) -> list[Event]:
                self.log.append(f"{when}: {asked(ctx)}")
                return [note(f"{when} {len(ctx.session.events)}", **fields)]

            return run

        return [
            Prologue(name="one", run=plain("late"), follows=True),
            Prologue(name="two", run=writing("late", custom_metadata={"own": 1}), follows=True, after=("one",)),
            Prologue(name="three", run=plain("early")),
            Prologue(name="four", run=writing("early"), after=("three",)),
        ]

    @hookimpl
    def on_user_message_callback(self, invocation_context: Any, user_message: Any) -> Content:
        self.log.append(f"hook: {user_message.parts[0].text}")
        return Content(role="user", parts=[Part(text="coffee")])


def test_prologues_run_before_and_after_the_hooks_see_the_message_and_their_events_come_before_it(talk: Any) -> None:
    prologues = Prologues()
    conversation = talk(agent(), plugins=[prologues])
    yielded = conversation.say("tea", run_config=RunConfig(custom_metadata={"run": 7, "own": 0}))
    assert prologues.log == ["early plain: tea", "early: tea", "hook: tea", "late plain: coffee", "late: coffee"]
    assert words(yielded) == ["tea"]
    stored = conversation.session.events
    assert words(stored) == ["early 0", "late 1", "coffee", "tea"]
    common = {"run": 7, "own": 0}
    assert [one.custom_metadata for one in stored] == [common, {"run": 7, "own": 1}, common, common]


class Ends:
    """Two epilogues that note the end of a run; `broken` raises."""

    name = "ends"

    def __init__(self, broken: str = "") -> None:
        self.log: list[str] = []
        self.broken = broken

    def note(self, what: str, error: object = None) -> None:
        self.log.append(f"{what}: {error}" if error is not None else what)
        if what == self.broken:
            raise RuntimeError(f"{what} broke")

    @hookimpl
    def register_epilogues(self) -> list[Epilogue]:
        async def writing(ctx: Any, error: BaseException | None) -> list[Event]:
            self.note("epilogue", error)
            return [note("the end")]

        return [
            Epilogue(name="plain", run=lambda ctx, error: self.note("plain epilogue", error)),
            Epilogue(name="writing", run=writing),
        ]


class OnError:
    """Notes the error of a run."""

    name = "on_error"

    def __init__(self, ends: Ends) -> None:
        self.ends = ends

    @hookimpl
    def on_run_error_callback(self, invocation_context: Any, error: BaseException) -> None:
        self.ends.note("hook of errors", error)


class After:
    """Notes that a run is over."""

    name = "after"

    def __init__(self, ends: Ends) -> None:
        self.ends = ends

    @hookimpl
    def after_run_callback(self, invocation_context: Any) -> None:
        self.ends.note("hook after")


@pytest.mark.parametrize("hooks", [(), (OnError,), (After,), (OnError, After)])
def test_hooks_then_epilogues_end_a_run(talk: Any, hooks: Sequence[Any]) -> None:
    ends = Ends()
    plugins = [ends, *(hook(ends) for hook in hooks)]
    conversation = talk(agent("tea", ValueError("cold")), plugins=plugins, distribution="minimal")
    assert words(conversation.say("go")) == ["tea"]
    after = ["hook after"] * (After in hooks)
    assert ends.log == [*after, "plain epilogue", "epilogue"]
    ends.log.clear()
    with pytest.raises(ValueError, match="cold"):
        conversation.say("again")
    of_error = ["hook of errors: cold"] * (OnError in hooks)
    assert ends.log == [*of_error, *after, "plain epilogue: cold", "epilogue: cold"]
    assert words(conversation.session.events) == ["go", "tea", "the end", "again", "the end"]


@pytest.mark.parametrize("broken", ["hook of errors", "hook after"])
def test_a_hook_that_fails_at_the_end_keeps_the_rest_from_nothing(talk: Any, broken: str) -> None:
    ends = Ends(broken)
    plugins = [ends, OnError(ends), After(ends)]
    conversation = talk(agent(ValueError("cold")), plugins=plugins, distribution="minimal")
    with pytest.raises(Exception, match=f"{broken} broke"):
        conversation.say("go")
    assert ends.log == ["hook of errors: cold", "hook after", "plain epilogue: cold", "epilogue: cold"]
    assert words(conversation.session.events) == ["go", "the end"]


@pytest.mark.parametrize("broken", ["plain epilogue", "epilogue"])
def test_an_epilogue_that_fails_ends_a_run_that_was_well_and_is_a_note_on_another_s_error(
    talk: Any, broken: str
) -> None:
    ends = Ends(broken)
    conversation = talk(agent("tea", ValueError("cold")), plugins=[ends], distribution="minimal")
    with pytest.raises(RuntimeError, match=f"{broken} broke"):
        conversation.say("go")
    with pytest.raises(ValueError, match="cold") as raised:
        conversation.say("again")
    name = "plain" if broken == "plain epilogue" else "writing"
    assert raised.value.__notes__ == [f"the epilogue {name!r} failed too: RuntimeError: {broken} broke"]
    assert ends.log[-1] == "epilogue: cold"  # the one after the broken one runs all the same


@pytest.mark.parametrize("broken", ["plain epilogue", "epilogue"])
def test_an_epilogue_that_fails_after_the_caller_has_left_fails_where_the_caller_closes(talk: Any, broken: str) -> None:
    async def run() -> None:
        conversation = talk(agent("tea"), plugins=[Ends(broken)], distribution="minimal")
        events = conversation.runner.run_async(new_message="go", user_id="ada", session_id="s1")
        assert words([await anext(events)]) == ["tea"]
        with pytest.raises(RuntimeError, match=f"{broken} broke"):
            await events.aclose()

    asyncio.run(run())


@pytest.mark.parametrize(("limit", "calls"), [(1, 1), (2, 2), (3, 3), (0, 3), (-1, 3)])
def test_a_run_makes_as_many_model_calls_as_its_limit_says(talk: Any, call: Any, limit: int, calls: int) -> None:
    def brew() -> str:
        return "a pot"

    waiter = agent(call("brew"), call("brew"), "tea", tools=[brew])
    conversation = talk(waiter)
    if calls == 3:
        assert words(conversation.say("go", run_config=RunConfig(max_llm_calls=limit)))[-1] == "tea"
    else:
        with pytest.raises(LlmCallsLimitExceededError, match=f"limit of `{limit}` exceeded"):
            conversation.say("go", run_config=RunConfig(max_llm_calls=limit))
    assert len(waiter.model.requests) == calls


def test_a_limit_that_no_run_can_reach_is_refused() -> None:
    with pytest.raises(ValueError, match=f"max_llm_calls should be less than {sys.maxsize}"):
        RunConfig(max_llm_calls=sys.maxsize)


def test_each_run_has_its_limit_anew(talk: Any) -> None:
    conversation = talk(agent("one", "two", "three"))
    config = RunConfig(max_llm_calls=1)
    assert [words(conversation.say("go", run_config=config)) for _ in range(3)] == [["one"], ["two"], ["three"]]
