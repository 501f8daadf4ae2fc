"""failure_events: a failed invocation leaves one error event; one that is cancelled or went well leaves none."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel.agents import LlmAgent, ParallelAgent, SequentialAgent
from newel.testing import Conversation, ScriptedModel
from newel.workflow import Workflow
from newel_kernel import BaseAgent, Event, InvocationContext, PluginHookError


class Failing(BaseAgent):
    """Says what it has to say, then fails."""

    async def _run_async_impl(self, ctx: InvocationContext) -> Any:
        yield Event(author=self.name, invocation_id=ctx.invocation_id, branch=ctx.branch, output="begun")
        raise OSError("the kettle is broken")


def broken(node_input: object) -> None:
    """Fails."""
    raise OSError("the kettle is broken")


def errors(events: Any) -> list[tuple[str, str | None, str | None]]:
    return [(event.author, event.error_code, event.error_message) for event in events if event.error_code]


def converse(agent: BaseAgent, **fields: Any) -> Conversation:
    return Conversation(agent, distribution="standard", **fields)


@pytest.mark.parametrize(
    ("root", "author"),
    [
        (lambda: Failing(name="cook"), "cook"),
        (lambda: SequentialAgent(name="kitchen", sub_agents=[Failing(name="cook")]), "cook"),
        (lambda: ParallelAgent(name="kitchen", sub_agents=[Failing(name="cook")]), "kitchen"),
        (lambda: Workflow(name="kitchen", edges=[("START", broken)]), None),
    ],
    ids=["agent", "sequence", "parallel", "graph"],
)
def test_whatever_the_root_one_event_tells_the_failure(root: Any, author: str | None) -> None:
    async def run() -> None:
        chat = converse(root())
        with pytest.raises(OSError, match="the kettle is broken"):
            await chat.send("tea")
        (error,) = errors((await chat.stored()).events)
        assert error[1:] == ("OSError", "the kettle is broken")
        assert author is None or error[0] == author

    asyncio.run(run())


def test_a_hook_that_fails_is_told_too_and_the_next_message_is_answered() -> None:
    class Moody:
        name = "moody"
        mood = 0

        async def before_agent_callback(self, agent: BaseAgent, callback_context: Any) -> None:
            self.mood += 1
            if self.mood == 1:
                raise ValueError("not today")

        __newel_implements_hooks__ = True

    async def run() -> None:
        chat = converse(LlmAgent(name="waiter", model=ScriptedModel(["tea"])), plugins=[Moody()])
        with pytest.raises(PluginHookError, match="not today"):
            await chat.send("tea")
        ((author, code, text),) = errors((await chat.stored()).events)
        assert (author, code) == ("waiter", "PluginHookError")
        assert text is not None
        assert "moody" in text
        events = await chat.send("please")
        assert events[-1].content.parts[0].text == "tea"

    asyncio.run(run())


def test_what_is_cancelled_or_closed_or_goes_well_has_not_failed() -> None:
    async def run() -> None:
        begun = asyncio.Event()

        async def wait() -> None:
            begun.set()
            await asyncio.Event().wait()

        from_call = ScriptedModel([{"call": "wait"}, "tea"])
        chat = converse(LlmAgent(name="waiter", model=from_call, tools=[wait]))
        task = asyncio.create_task(chat.send("tea"))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await chat.send("tea")
        assert errors((await chat.stored()).events) == []

    asyncio.run(run())


def test_secrets_and_endless_texts_are_not_told() -> None:
    class Wordy(BaseAgent):
        async def _run_async_impl(self, ctx: InvocationContext) -> Any:
            raise ValueError("x" * 10_000 + "\x00")
            yield

    async def run() -> None:
        chat = converse(Wordy(name="wordy"))
        with pytest.raises(ValueError, match="xxx"):
            await chat.send("tea")
        ((_, _, text),) = errors((await chat.stored()).events)
        assert text is not None
        assert len(text) < 2_100

    asyncio.run(run())


def test_adk_leaves_no_event() -> None:
    async def run() -> None:
        chat = Conversation(Failing(name="cook"), distribution="adk")
        with pytest.raises(OSError, match="kettle"):
            await chat.send("tea")
        assert errors((await chat.stored()).events) == []

    asyncio.run(run())
