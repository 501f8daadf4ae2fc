"""A run for one answer, for scripts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import TypedDict, Unpack

from newel.events.text import text_of
from newel.runners import InMemoryRunner
from newel_kernel import BaseAgent, ConfigurationError


class RunnerOptions(TypedDict, total=False):
    """Options of `InMemoryRunner`."""

    app_name: str
    plugins: Sequence[object]
    distribution: str | None


def run(agent: BaseAgent, message: object, **options: Unpack[RunnerOptions]) -> str:
    """The text of the agent's final answer to `message`, in a session of its own that is not kept.

    `options` go to `InMemoryRunner`. Not for use inside a running event loop: there, iterate over
    ``Runner.run_async``.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_answer(agent, message, options))
    raise ConfigurationError("run() cannot be used inside a running event loop; iterate over Runner.run_async there")


async def _answer(agent: BaseAgent, message: object, options: RunnerOptions) -> str:
    texts: list[str] = []
    async with InMemoryRunner(agent, **options) as runner:
        events = runner.run_async(user_id="user", session_id="run", new_message=message)
        async with aclosing(events):
            async for event in events:
                if event.is_final_response():
                    texts.append(text_of(event.content))
    return "\n".join(text for text in texts if text)
