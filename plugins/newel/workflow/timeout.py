"""Timeout: how long the producer of a stream of events may take."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from newel.workflow._errors import NodeTimeoutError
from newel_kernel import Event


async def limited(events: AsyncGenerator[Event, None], name: str, seconds: float) -> AsyncGenerator[Event, None]:
    """`events` of the node of that name, whose code may take `seconds` in all.

    The time until each event is committed does not count.
    """
    loop = asyncio.get_running_loop()
    left = seconds
    async with aclosing(events):
        while True:
            started = loop.time()
            try:
                async with asyncio.timeout(left) as limit:
                    event = await anext(events)
            except StopAsyncIteration:
                return
            except TimeoutError:
                if limit.expired():
                    raise NodeTimeoutError(f"node {name!r} timed out after {seconds} seconds") from None
                raise
            left = max(0.0, left - (loop.time() - started))
            yield event
