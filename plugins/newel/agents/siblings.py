"""Siblings: agents that run side by side, of which the others stop once one has escalated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from newel.policies import pairing
from newel_kernel import Event, InvocationContext

Events = AsyncGenerator[Event, None]


class Sibling:
    """The run of one sub-agent. `stop` ends it early, as a timeout would: what it is doing is cancelled."""

    __slots__ = ("_events", "_is_working", "_stopped", "_task", "branch")

    def __init__(self, events: Events, branch: str | None) -> None:
        self.branch = branch
        self._events = events
        self._task: asyncio.Task[object] | None = None
        self._stopped = False
        #: Whether it works on its next event; otherwise it waits until its last one is committed.
        self._is_working = False

    async def run(self) -> Events:
        """Its events, until it ends or is stopped."""
        self._task = asyncio.current_task()
        if self._stopped:
            return
        async with aclosing(self._events) as events:
            self._is_working = True
            try:
                async for event in events:
                    self._is_working = False
                    yield event
                    if self._stopped:
                        return
                    self._is_working = True
            except asyncio.CancelledError:
                if not self._stopped or not self._is_working or (self._task and self._task.uncancel() > 0):
                    raise
            finally:
                self._is_working = False

    def stop(self) -> None:
        """End it, before its next event."""
        if not self._stopped:
            self._stopped = True
            if self._is_working and self._task is not None:
                self._task.cancel()


async def unfinished_results(ctx: InvocationContext, siblings: list[Sibling]) -> list[Event]:
    """A result for each tool call that a stopped sibling has left open."""
    branches = tuple(f"{sibling.branch}." for sibling in siblings)
    results = await pairing.close(ctx, asyncio.CancelledError())
    return [event for event in results if f"{event.branch}.".startswith(branches)]
