"""Shortcuts for scripts: run an agent for one answer, and make a tool of a function."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any, overload

from newel.runners import InMemoryRunner
from newel.tools.function_tool import FunctionTool
from newel_kernel import BaseAgent
from newel_kernel import Effect
from newel_kernel import ConfigurationError


def run(agent: BaseAgent, message: Any, **options: Any) -> str:
    """The text of the agent's final answer to `message`, in a session of its own that is not kept.

    `options` go to `InMemoryRunner` (`plugins`, `distribution`). Not for use inside a running event loop:
    there, iterate over ``Runner.run_async``.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_answer(agent, message, options))
    raise ConfigurationError("run() cannot be used inside a running event loop; iterate over Runner.run_async there")


async def _answer(agent: BaseAgent, message: Any, options: dict[str, Any]) -> str:
    texts: list[str] = []
    async with InMemoryRunner(agent, **options) as runner:
        events = runner.run_async(user_id="user", session_id="run", new_message=message)
        async with aclosing(events):
            async for event in events:
                if event.content is not None and event.is_final_response():
                    texts.append("".join(p.text for p in event.content.parts or () if p.text and not p.thought))
    return "\n".join(text for text in texts if text)


@overload
def tool(function: Callable[..., Any]) -> FunctionTool: ...


@overload
def tool(
    *, require_confirmation: bool | Callable[..., Any] = False, effect: Effect | str | None = None
) -> Callable[[Callable[..., Any]], FunctionTool]: ...


def tool(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a FunctionTool of a function; as ``@tool`` or ``@tool(require_confirmation=True)``."""
    if function is not None:
        return FunctionTool(function, **options)
    return lambda decorated: FunctionTool(decorated, **options)
