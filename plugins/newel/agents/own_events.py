"""Own events: agent classes of other packages must yield events, and nothing else."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from newel_kernel import Event, HookSignatureError

Run = Callable[..., AsyncGenerator[Event, None]]


def checked(run: Run) -> Run:
    """A class's `_run_async_impl` with its events checked; a HookSignatureError if it is not an async generator."""
    if inspect.iscoroutinefunction(run):
        raise HookSignatureError(f"{run.__qualname__} is not an async generator: it must yield its events")
    if not inspect.isasyncgenfunction(run):
        return run  # a function that returns a generator, perhaps

    @functools.wraps(run)
    async def events(self: Any, ctx: Any) -> AsyncGenerator[Event, None]:
        async with aclosing(run(self, ctx)) as own:
            async for event in own:
                if not isinstance(event, Event):
                    raise HookSignatureError(
                        f"agent {self.name!r}: {run.__qualname__} yielded {type(event).__name__}; it must yield events"
                    )
                yield event

    return events
