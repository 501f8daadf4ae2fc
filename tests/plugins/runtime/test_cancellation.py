"""Cancellation is what the running task was told: not what somebody raises, and also where somebody swallows it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel.agents import LlmAgent, ParallelAgent
from newel.testing import Conversation, ScriptedModel
from newel_kernel import BaseAgent, InvocationContext, PluginError, PluginHookError, RequestProcessor, hookimpl
from newel_types import FunctionCall

HOOKS = [
    "on_user_message_callback",
    "before_run_callback",
    "before_agent_callback",
    "before_model_callback",
    "after_model_callback",
    "before_tool_callback",
    "after_tool_callback",
    "after_agent_callback",
    "on_event_callback",
    "after_run_callback",
]


class Raising:
    """Raises a CancelledError in one hook."""

    __newel_implements_hooks__ = True
    name = "grumpy"

    def __init__(self, hook: str) -> None:
        async def raising(**keywords: Any) -> None:
            raise asyncio.CancelledError

        setattr(type(self), hook, staticmethod(raising))


def plugin(hook: str) -> object:
    return type("Grumpy", (Raising,), {})(hook)


def brew() -> str:
    """Brews tea."""
    return "tea"


def waiter(**fields: Any) -> LlmAgent:
    return LlmAgent(name="waiter", model=ScriptedModel([{"call": "brew"}, "done"]), tools=[brew], **fields)


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_that_raises_a_cancellation_by_itself_has_failed(hook: str) -> None:
    async def run() -> None:
        chat = Conversation(waiter(), plugins=[plugin(hook)])
        with pytest.raises(PluginHookError, match=f"'grumpy'.*{hook}.*CancelledError") as raised:
            await chat.send("tea")
        assert isinstance(raised.value.__cause__, asyncio.CancelledError)

    asyncio.run(run())


class Odd(BaseAgent):
    """Is cancelled by nobody."""

    async def _run_async_impl(self, ctx: InvocationContext) -> Any:
        raise asyncio.CancelledError
        yield


class Waiting(BaseAgent):
    """Waits for what was cancelled elsewhere: the error comes out of asyncio."""

    async def _run_async_impl(self, ctx: InvocationContext) -> Any:
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        gone.cancel()
        await asyncio.wait_for(gone, 1)
        yield


class Steps:
    """A request step that is cancelled by nobody."""

    name = "steps"

    @hookimpl
    def register_request_processors(self) -> list[RequestProcessor]:
        async def run(ctx: Any, request: Any) -> None:
            raise asyncio.CancelledError

        return [RequestProcessor(name="odd", run=run, after=("contents",))]


@pytest.mark.parametrize(
    ("agent", "plugins"),
    [
        (lambda: Odd(name="odd"), []),
        (lambda: Waiting(name="waiting"), []),
        (lambda: ParallelAgent(name="both", sub_agents=[Odd(name="odd"), waiter()]), []),
        (waiter, [Steps()]),
    ],
    ids=["agent", "asyncio", "branch", "processor"],
)
def test_what_else_does_is_a_failure_that_names_the_module(agent: Any, plugins: Any) -> None:
    async def run() -> None:
        chat = Conversation(agent(), plugins=plugins)
        with pytest.raises(
            PluginError, match=rf"{__name__}(, in a run that nobody cancelled,|\)) raised CancelledError"
        ):
            await chat.send("tea")
        stored = (await chat.stored()).events
        assert stored[-1].error_code == "PluginError"

    asyncio.run(run())


@pytest.mark.parametrize("beside", [0, 1])
def test_a_tool_that_swallows_a_cancellation_does_not_make_the_run_go_on(beside: int) -> None:
    async def run() -> None:
        begun = asyncio.Event()

        async def stubborn() -> str:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return "tea after all"
            return "tea"

        calls = [FunctionCall(name="stubborn"), *[FunctionCall(name="brew")] * beside]
        model = ScriptedModel([calls, "not asked"])
        chat = Conversation(LlmAgent(name="waiter", model=model, tools=[stubborn, brew]))
        task = asyncio.create_task(chat.send("tea"))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(chat.requests) == 1
        stored = (await chat.stored()).events
        results = [response for event in stored for response in event.get_function_responses()]
        assert {"result": "tea after all"} in [response.response for response in results]
        assert len(results) == 1 + beside

    asyncio.run(run())


def test_a_hook_that_swallows_one_does_not_either() -> None:
    class Stubborn:
        name = "stubborn"
        begun = asyncio.Event()

        @hookimpl
        async def before_model_callback(self, callback_context: Any, llm_request: Any) -> None:
            self.begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return

    async def run() -> None:
        stubborn = Stubborn()
        chat = Conversation(waiter(), plugins=[stubborn])
        task = asyncio.create_task(chat.send("tea"))
        await stubborn.begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert chat.requests == []

    asyncio.run(run())


def test_in_a_task_that_was_cancelled_before_tools_run_as_ever() -> None:
    async def run() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(0)
        events = await Conversation(waiter()).send("tea")
        assert events[-1].content.parts[0].text == "done"
        task.uncancel()

    asyncio.run(run())


def test_nobody_tells_anything_to_code_that_no_task_runs() -> None:
    async def run() -> None:
        chat = Conversation(waiter(), plugins=[plugin("before_model_callback")])
        outcome: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def drive() -> None:
            try:
                chat.send("tea").send(None)
            except BaseException as error:
                outcome.set_result(error)

        asyncio.get_running_loop().call_soon(drive)
        assert isinstance(await asyncio.wait_for(outcome, 60), PluginHookError)

    asyncio.run(run())
