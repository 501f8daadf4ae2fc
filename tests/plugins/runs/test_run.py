"""Background runs: what followers get, however they come, go and dawdle."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from contextvars import ContextVar, copy_context
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newel import Agent, Runner
from newel.claims import SessionBusyError
from newel.models import BaseLlm, LlmRequest, LlmResponse
from newel.runs import RunCancelledError, RunStatus
from newel.runs import run as run_module
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel_compose import compose
from newel_kernel import ConfigurationError, Epilogue, Event, RunConfig, StreamingMode, hookimpl
from newel_types import Content, FunctionCall, Part

AT: dict[str, Any] = {"user_id": "ada", "session_id": "s"}
STREAMED = RunConfig(streaming_mode=StreamingMode.SSE)


class Steps(BaseLlm):
    """Each step: so many chunks, then a call of a tool; at the end a text. It pauses so many rounds of the loop."""

    model: str = "steps"
    steps: list[int]
    pause: int = 0
    at: int = 0

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.at += 1
        chunks = self.steps[self.at - 1] if self.at <= len(self.steps) else 0
        for number in range(chunks):
            for _ in range(self.pause):
                await asyncio.sleep(0)
            yield answer(Part(text=f"{number} "), partial=True)
        if self.at <= len(self.steps):
            yield answer(Part(function_call=FunctionCall(id=f"c{self.at}", name="look", args={})))
        else:
            yield answer(Part(text="done"))


def answer(*parts: Part, partial: bool | None = None) -> LlmResponse:
    return LlmResponse(content=Content(role="model", parts=list(parts)), partial=partial)


async def look() -> str:
    """Look around."""
    await asyncio.sleep(0)
    return "a door"


def runner(steps: list[int] | None = None, *, pause: int = 0, tools: Any = (look,), **fields: Any) -> Runner:
    agent = Agent(name="clerk", model=Steps(steps=steps or [], pause=pause), tools=list(tools))
    fields = {"agent": agent, "app_name": "house", "session_service": InMemorySessionService()} | fields
    return Runner(auto_create_session=True, **fields)


async def stored(one: Runner) -> list[Event]:
    session = await one.session_service.get_session(app_name="house", **AT)
    return session.events[1:] if session is not None else []


def ids(events: Any) -> list[str]:
    return [event.id for event in events]


async def rounds(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def nobody_is_left() -> None:
    await rounds(3)
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_a_run_goes_on_without_followers_and_has_a_result() -> None:
    async def main() -> None:
        one = runner([2])
        run = one.start(**AT, new_message="hello", run_config=STREAMED)
        assert (run.status, run.invocation_id) == (RunStatus.RUNNING, None)
        assert one.runs.get(run.id) is run
        assert one.runs.of_session("ada", "s") == [*one.runs] == [run]
        result = await run.result()
        assert result is not None
        assert result.content.parts[0].text == "done"  # type: ignore[union-attr,index]
        assert (run.status, run.invocation_id, len(one.runs)) == (RunStatus.DONE, result.invocation_id, 0)
        assert one.runs.get(run.id) is None
        assert one.runs.of_session("ada", "s") == []
        events = [event async for event in run.events()]
        assert [bool(event.partial) for event in events] == [True, True, False, False, False]
        assert ids(event for event in events if not event.partial) == ids(await stored(one))
        run.cancel()
        assert run.status is RunStatus.DONE
        await nobody_is_left()

    asyncio.run(main())


def test_many_followers_get_the_same_and_one_resumes_after_a_number() -> None:
    async def follow(run: Any, after: int = 0) -> list[tuple[int, str]]:
        return [(number, event.id) async for number, event in run.numbered(after)]

    async def main() -> None:
        run = runner([3, 2]).start(**AT, new_message="hello", run_config=STREAMED)
        first, second = await asyncio.gather(follow(run), follow(run))
        assert first == second
        assert [number for number, _ in first] == [*range(1, 11)]
        assert await follow(run, 4) == first[4:]
        assert await follow(run, 99) == []

    asyncio.run(main())


@st.composite
def scenes(draw: st.DrawFn) -> dict[str, Any]:
    """A run, its followers and when it is cancelled; all times are rounds of the event loop."""
    rounds_ = st.integers(0, 30)
    follower = st.fixed_dictionaries(
        {
            "comes": rounds_,
            "pause": st.integers(0, 6),
            "after": st.integers(0, 12),
            "takes": st.none() | st.integers(0, 10),
            "killed": st.none() | rounds_,
        }
    )
    return {
        "steps": draw(st.lists(st.integers(0, 9), max_size=4)),
        "pause": draw(st.integers(0, 2)),
        "followers": draw(st.lists(follower, max_size=4)),
        "cancel": draw(st.none() | st.integers(0, 60)),
        "window": draw(st.sampled_from([1, 2, 5, 64])),
        "patience": draw(st.sampled_from([0.0, 0.001])),
    }


async def follow(run: Any, plan: dict[str, Any], taken: list[tuple[int, Event]]) -> None:
    await rounds(plan["comes"])
    async with aclosing(run.numbered(plan["after"])) as numbered:
        async for one in numbered:
            taken.append(one)
            if plan["takes"] is not None and len(taken) >= plan["takes"]:
                return
            await rounds(plan["pause"])


async def play(scene: dict[str, Any]) -> None:
    one = runner(scene["steps"], pause=scene["pause"])
    run = one.start(**AT, new_message="hello", run_config=STREAMED)
    taken: list[list[tuple[int, Event]]] = [[] for _ in scene["followers"]]
    tasks = [asyncio.create_task(follow(run, *pair)) for pair in zip(scene["followers"], taken, strict=True)]
    for moment in range(61):
        for plan, task in zip(scene["followers"], tasks, strict=True):
            if plan["killed"] == moment:
                task.cancel()
        if scene["cancel"] == moment:
            run.cancel()
        await asyncio.sleep(0)
    await run.wait()
    await asyncio.gather(*tasks, return_exceptions=True)
    committed = [(number, event.id) async for number, event in run.numbered() if not event.partial]
    assert [id_ for _, id_ in committed] == ids(await stored(one))[: len(committed)]
    if run.status is RunStatus.DONE:
        assert [id_ for _, id_ in committed] == ids(await stored(one))
    for plan, mine in zip(scene["followers"], taken, strict=True):
        check(plan, mine, committed)
    assert run.status is RunStatus.DONE or (scene["cancel"] is not None and run.status is RunStatus.CANCELLED)
    assert (len(one.runs), len(run._followers)) == (0, 0)
    await nobody_is_left()


def check(plan: dict[str, Any], mine: list[tuple[int, Event]], committed: list[tuple[int, str]]) -> None:
    """Numbers rise; of what is committed nothing is left out up to where the follower left."""
    numbers = [number for number, _ in mine]
    assert numbers == sorted(set(numbers))
    assert all(number > plan["after"] for number in numbers)
    left = plan["takes"] is not None or plan["killed"] is not None
    end = (numbers[-1] if numbers else 0) if left else 10**9
    expected = [one for one in committed if plan["after"] < one[0] <= end]
    assert [(number, event.id) for number, event in mine if not event.partial] == expected


@given(scenes())
@settings(max_examples=150, deadline=None)
def test_whatever_followers_do_each_gets_what_is_committed_in_order(scene: dict[str, Any]) -> None:
    window, patience = run_module.WINDOW, run_module.PATIENCE
    run_module.WINDOW, run_module.PATIENCE = scene["window"], scene["patience"]
    try:
        asyncio.run(play(scene))
    finally:
        run_module.WINDOW, run_module.PATIENCE = window, patience


def test_a_slow_follower_holds_up_nobody_and_reads_what_is_committed_from_the_session() -> None:
    async def main() -> None:
        one = runner([300, 300])
        run = one.start(**AT, new_message="hello", run_config=STREAMED)
        slow = run.numbered()
        await anext(slow)
        fast = [event async for event in run.events()]
        assert len([event for event in fast if event.partial]) == 600
        assert run.status is RunStatus.DONE
        rest = [pair async for pair in slow]
        assert ids(event for _, event in rest if not event.partial) == ids(await stored(one))
        assert len(rest) < 600  # it missed chunks
        await nobody_is_left()

    asyncio.run(main())


def test_a_follower_that_takes_nothing_holds_up_the_run_for_a_while_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "PATIENCE", 0.05)

    async def main() -> None:
        run = runner([500]).start(**AT, new_message="hello", run_config=STREAMED)
        stuck = run.events()
        await anext(stuck)
        await asyncio.wait_for(run.wait(), 10)
        assert run.status is RunStatus.DONE
        await stuck.aclose()

    asyncio.run(main())


def test_the_first_chunk_arrives_before_a_model_that_never_pauses_is_done() -> None:
    async def main() -> None:
        run = runner([1000]).start(**AT, new_message="hello", run_config=STREAMED)
        async with aclosing(run.events()) as events:
            await anext(events)
            assert run._count <= run_module.WINDOW
            rest = [event async for event in events]
        assert len(rest) == 1000 + 2  # no chunk was missed

    asyncio.run(main())


def test_a_failed_run_raises_for_who_waits_and_for_who_follows() -> None:
    async def broken() -> str:
        """Break."""
        raise OSError("the door is stuck")

    async def main() -> None:
        one = runner([1], tools=[named(broken)], distribution="adk")
        run = one.start(**AT, new_message="hello")
        seen: list[tuple[int, Event]] = []
        with pytest.raises(OSError, match="the door is stuck"):
            await follow(run, {"comes": 0, "after": 0, "takes": None, "pause": 0}, seen)
        assert [bool(event.partial) for _, event in seen] == [True, False]
        for _ in range(2):
            with pytest.raises(OSError, match="the door is stuck"):
                await run.result()
        assert run.status is RunStatus.FAILED
        await nobody_is_left()

    asyncio.run(main())


def named(function: Any) -> Any:
    function.__name__ = "look"
    return function


def test_a_failure_that_nobody_follows_is_logged_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    async def broken() -> str:
        """Break."""
        raise OSError("the password is tea")

    async def main() -> None:
        run = runner([1], tools=[named(broken)], distribution="adk").start(**AT, new_message="hello")
        await run.wait()
        await rounds(2)

    with caplog.at_level(logging.WARNING, "newel.runs"):
        asyncio.run(main())
    assert "failed with OSError, and nobody followed it" in caplog.text
    assert "password" not in caplog.text


@pytest.mark.parametrize("moment", [0, 1, 5, 20])
@pytest.mark.parametrize("swallows", [False, True])
def test_a_cancelled_run_ends_as_one_whose_caller_left(moment: int, swallows: bool) -> None:
    ends: list[str] = []

    class Watch:
        name = "watch"

        @hookimpl
        def register_epilogues(self) -> list[Epilogue]:
            return [Epilogue(name="watch", run=lambda ctx, error: ends.append(type(error).__name__))]

    async def wait() -> str:
        """Wait."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if not swallows:
                raise
        return "no"

    async def main() -> None:
        composed = compose("standard", plugins=[Watch()])
        one = runner([3], tools=[named(wait)], composition=composed)
        run = one.start(**AT, new_message="hello", run_config=STREAMED)
        await rounds(moment)
        run.cancel()
        assert [event async for event in run.events() if event.content is None] == []
        with pytest.raises(RunCancelledError, match="was cancelled"):
            await run.result()
        assert run.status is RunStatus.CANCELLED
        assert len(one.runs) == 0
        await nobody_is_left()
        async with aclosing(one.run_async(**AT, new_message="again")) as events:
            await anext(events)  # the session is free

    asyncio.run(main())
    assert len(ends) == (1 if moment == 0 else 2)


def test_who_is_cancelled_while_following_or_waiting_leaves_the_run_alone() -> None:
    async def main() -> None:
        one = runner([50], pause=3)
        run = one.start(**AT, new_message="hello", run_config=STREAMED)

        async def follow() -> None:
            async for _ in run.events():
                pass

        tasks = [asyncio.create_task(follow()), asyncio.create_task(run.result())]
        await rounds(20)
        for task in tasks:
            task.cancel()
        assert all(
            isinstance(one, asyncio.CancelledError) for one in await asyncio.gather(*tasks, return_exceptions=True)
        )
        assert run.status is RunStatus.RUNNING
        assert await run.result() is not None
        await nobody_is_left()

    asyncio.run(main())


def test_a_runner_that_is_closed_ends_its_runs() -> None:
    async def main() -> None:
        async with runner([500], pause=5) as one:
            run = one.start(**AT, new_message="hello", run_config=STREAMED)
            await rounds(10)
        assert run.status is RunStatus.CANCELLED
        assert len(one.runs) == 0
        await nobody_is_left()

    asyncio.run(main())


def test_a_second_run_of_a_session_is_refused_to_who_waits_for_it() -> None:
    async def main() -> None:
        one = runner([20], pause=3)
        first = one.start(**AT, new_message="hello", run_config=STREAMED)
        await rounds(5)
        second = one.start(**AT, new_message="me too")
        assert one.runs.of_session("ada", "s") == [first, second]
        with pytest.raises(SessionBusyError):
            await second.result()
        assert await first.result() is not None

    asyncio.run(main())


def test_a_run_needs_a_message_and_a_loop() -> None:
    with pytest.raises(ConfigurationError, match="needs a running event loop"):
        runner().start(**AT, new_message="hello")

    async def main() -> None:
        with pytest.raises(ConfigurationError, match="needs a `new_message`"):
            runner().start(**AT)

    asyncio.run(main())


def test_an_ended_run_is_not_kept() -> None:
    async def main() -> int:
        one = runner()
        for number in range(20):
            await one.start(user_id="ada", session_id=f"s{number}", new_message="hello").result()
        gc.collect()
        return len([thing for thing in gc.get_objects() if isinstance(thing, run_module.Run)])

    assert asyncio.run(main()) <= 1


def test_a_run_in_a_thread_sees_the_callers_context() -> None:
    tenant: ContextVar[str] = ContextVar("tenant", default="nobody")
    seen: list[str] = []

    def who() -> str:
        """Who."""
        seen.append(tenant.get())
        return tenant.get()

    def talk() -> None:
        tenant.set("acme")
        agent = Agent(name="a", model=ScriptedModel([{"call": "who", "args": {}}, "done"]), tools=[who])
        store = InMemorySessionService()
        runner = Runner(agent=agent, app_name="t", session_service=store, auto_create_session=True)
        assert list(runner.run(user_id="u", session_id="s", new_message="hi"))[-1].content.parts[0].text == "done"

    copy_context().run(talk)
    assert (seen, tenant.get()) == (["acme"], "nobody")
