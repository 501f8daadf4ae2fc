"""Closing: a runner's toolsets and plugins are closed, each within a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from newel_kernel import BaseAgent, BaseToolset, cancellations, subtree


@runtime_checkable
class Closing(Protocol):
    """An object that can be closed."""

    async def close(self) -> None:
        """Release its resources."""


async def close_all(root: BaseAgent, plugins: Sequence[object], seconds: float) -> None:
    """Close the toolsets of a tree, and the plugins; whatever fails or hangs, the others are closed too."""
    closed = [(type(one).__name__, await _close(one, seconds)) for agent in subtree(root) for one in toolsets_of(agent)]
    for plugin in plugins:
        if isinstance(plugin, Closing):
            closed.append((str(plugin), await _close(plugin, seconds)))
    problems = [f"{name}: {type(error).__name__}: {error}" for name, error in closed if error is not None]
    if problems:
        raise RuntimeError(f"not everything closed: {'; '.join(problems)}")


def toolsets_of(agent: BaseAgent) -> list[BaseToolset]:
    """The toolsets that are closed with the agent: its driver knows them."""
    toolsets: Callable[[], list[BaseToolset]] = getattr(agent.__newel__, "toolsets", list)
    return toolsets()


async def _close(one: Closing, seconds: float) -> BaseException | None:
    """The error, or None; it is returned because closing continues with the next one."""
    try:
        async with asyncio.timeout(seconds):
            await one.close()
    except (Exception, asyncio.CancelledError) as error:  # a plugin boundary
        if isinstance(error, asyncio.CancelledError) and cancellations():
            raise
        return error
    return None
