"""Time limits of tools: a call that takes too long is an error result for the model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

from newel_kernel import Json


def limited(function: Callable[..., object], seconds: float, name: str) -> Callable[..., Awaitable[object]]:
    """The coroutine function `function`, cancelled after so many seconds."""

    async def call(**values: object) -> object:
        try:
            async with asyncio.timeout(seconds) as limit:
                return await cast("Awaitable[object]", function(**values))
        except TimeoutError:
            if not limit.expired():  # the tool's own
                raise
            return out_of_time(name, seconds, "the tool's timeout")

    return call


def out_of_time(name: str, seconds: float, where: str) -> Json:
    """The result of a call that took too long; `where` says who set the limit."""
    return {"error": f"the tool {name} did not answer within {seconds:g} s ({where})"}
