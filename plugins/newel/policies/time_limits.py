"""Time limits of tools: a call that takes too long is an error result for the model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from newel_kernel import Json


async def within(seconds: float, awaited: Awaitable[object], name: str) -> object:
    """The result of a tool call, or an error result if the limit ended it."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await awaited
    except TimeoutError:
        if not limit.expired():  # the tool's own TimeoutError
            raise
        return out_of_time(name, seconds, "the tool's timeout")


def out_of_time(name: str, seconds: float, where: str) -> Json:
    """The result of a call that took too long; `where` says who set the limit."""
    return {"error": f"the tool {name} did not answer within {seconds:g} s ({where})"}
