"""Cancelled graphs: they end, whatever the code of their nodes makes of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from newel import Context
from newel.workflow import BaseNode, FunctionNode, ParallelWorker, RetryConfig, Workflow

QUICK = RetryConfig(max_attempts=3, initial_delay=0.0)


async def clean_up_fails(node_input: Any) -> AsyncGenerator[str, None]:
    try:
        await asyncio.Event().wait()
        yield "never"
    finally:
        raise ConnectionError("close failed")


async def made_an_error(node_input: Any) -> None:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise RuntimeError("driver aborted") from None


async def swallowed(node_input: Any) -> str:
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
    return "went on"


async def swallowed_and_yields(node_input: Any) -> AsyncGenerator[str, None]:
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
    yield "went on"


async def runs_another(ctx: Context, node_input: Any) -> Any:
    return await ctx.run_node(made_an_error, node_input)


async def bad(node_input: Any) -> None:
    await asyncio.sleep(0.01)
    raise LookupError("gone")


STUBBORN = [clean_up_fails, made_an_error, swallowed, swallowed_and_yields, runs_another]
stubborn = pytest.mark.parametrize("code", STUBBORN)
settings = pytest.mark.parametrize("options", [{}, {"timeout": 60.0}, {"retry_config": QUICK}])


def node(code: Any, **options: Any) -> BaseNode:
    return FunctionNode(code, rerun_on_resume=True, **options)


def outcomes(chat: Any) -> list[Any]:
    return [event.error_code or event.output for event in chat.stored()[1:]]


async def ended(chat: Any, cancel: bool) -> asyncio.Task[Any]:
    """The run, once it is over: within five seconds, or it hangs."""

    async def turn() -> None:
        async for _ in chat.runner.run_async(user_id="u", session_id="s", new_message="go"):
            pass

    task = asyncio.create_task(turn())
    if cancel:
        for _ in range(200):  # rounds of the loop, in which every node has begun, however slow the machine
            await asyncio.sleep(0)
        task.cancel()
    done, _ = await asyncio.wait([task], timeout=60)
    assert done, "the run hangs"
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return task


@stubborn
@settings
def test_a_failure_ends_what_runs_beside(talk: Any, code: Any, options: Any) -> None:
    inner = Workflow(name="inner", edges=[("START", node(code, **options))])
    chat = talk(Workflow(name="wf", edges=[("START", (bad, node(code, **options), inner))]))
    assert isinstance(asyncio.run(ended(chat, cancel=False)).exception(), LookupError)
    assert outcomes(chat) == ["LookupError"]


@stubborn
@settings
@pytest.mark.parametrize("beside", [(), (swallowed_and_yields,)])
def test_a_cancelled_run_ends(talk: Any, code: Any, options: Any, beside: Any) -> None:
    chat = talk(Workflow(name="wf", edges=[("START", (node(code, name="code", **options), *beside))]))
    task = asyncio.run(ended(chat, cancel=True))
    assert task.cancelled() or (code in (swallowed, swallowed_and_yields) and not beside)  # alone, it may go on
    assert not [outcome for outcome in outcomes(chat) if outcome != "went on"]


def test_cancelled_items_of_a_parallel_worker_are_not_tried_again(talk: Any) -> None:
    begun_items = []

    async def work(node_input: Any) -> None:
        begun_items.append(node_input)
        await (bad(node_input) if node_input == 0 else made_an_error(node_input))

    def items(node_input: Any) -> list[int]:
        return [1, 0, 2]

    options = {"retry_config": RetryConfig(max_attempts=3, initial_delay=0.0, exceptions=["RuntimeError"])}
    chat = talk(Workflow(name="wf", edges=[("START", items, ParallelWorker(node(work, **options)))]))
    assert isinstance(asyncio.run(ended(chat, cancel=False)).exception(), LookupError)
    assert begun_items == [1, 0, 2]
    assert "RuntimeError" not in outcomes(chat)


def test_a_run_in_a_task_that_survived_a_cancellation_is_a_run_like_any_other(talk: Any) -> None:
    attempts = []

    async def flaky(node_input: Any) -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise ValueError("x")
        return "done"

    chat = talk(Workflow(name="wf", edges=[("START", node(flaky, retry_config=QUICK))]))

    async def main() -> None:
        async def survive() -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                async for _ in chat.runner.run_async(user_id="u", session_id="s", new_message="go"):
                    pass

        task = asyncio.create_task(survive())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait_for(task, 60)

    asyncio.run(main())
    assert outcomes(chat) == ["ValueError", "done"]


def test_what_is_ready_runs_beside_the_back_off_of_a_function(talk: Any) -> None:
    log: list[str] = []

    def flaky(node_input: Any) -> None:
        log.append("flaky")
        if log.count("flaky") == 1:
            raise ValueError("x")

    def first(node_input: Any) -> None:
        log.append("first")

    async def second(node_input: Any) -> None:
        log.append("second")

    retry = RetryConfig(max_attempts=2, initial_delay=0.05, jitter=0.0)
    chat = talk(Workflow(name="wf", edges=[("START", (node(flaky, retry_config=retry), first, second))]))
    asyncio.run(ended(chat, cancel=False))
    assert log == ["flaky", "first", "second", "flaky"]
    assert outcomes(chat)[0] == "ValueError"


def test_a_function_may_run_nodes_when_it_is_tried_again(talk: Any) -> None:
    attempts = []

    def other(node_input: Any) -> str:
        return "other"

    async def flaky(ctx: Context, node_input: Any) -> Any:
        attempts.append(1)
        if len(attempts) == 1:
            raise ValueError("x")
        return await ctx.run_node(other, node_input)

    chat = talk(Workflow(name="wf", edges=[("START", node(flaky, retry_config=QUICK))]))
    asyncio.run(ended(chat, cancel=False)).result()
    assert outcomes(chat) == ["ValueError", "other", "other"]
