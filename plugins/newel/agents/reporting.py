"""Reporting: an agent whose tools tell how far they are has a place for that in a streamed run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from newel_kernel import Event, InvocationContext, Meeting, merge_streams

Events = AsyncGenerator[Event, None]


async def reporting(ctx: InvocationContext, run: Callable[[InvocationContext], Events]) -> Events:
    """The agent's events (`run`), and between them what its tools leave at the context's `meeting`."""
    view = ctx.model_copy(update={"meeting": Meeting()})
    async with aclosing(merge_streams([run(view)], view.meeting)) as events:
        async for event in events:
            yield event
    ctx.end_invocation = ctx.end_invocation or view.end_invocation
