"""Outcome: the result of a write that is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from newel.sessions.stored.steps import Write

T = TypeVar("T")


class Outcome(asyncio.Future[Any]):
    """A write cannot be taken back, so nothing cancels it: a cancelled caller finds it ended, one way or the other."""

    __slots__ = ("error", "value", "write")
    #: The write, and its result or error until the waiting task gets it.
    write: Write[Any]
    value: object
    error: BaseException | None

    def cancel(self, msg: object | None = None) -> bool:
        """Refuse."""
        return False


async def settled(outcome: Outcome, then: Callable[[T], object] | None) -> T:
    """The result, after `then` was called with it. A cancelled caller waits until the outcome is there."""
    try:
        result: T = await outcome
    except asyncio.CancelledError:
        while not outcome.done():
            with suppress(BaseException):
                await outcome
        if then is not None and outcome.exception() is None:
            then(outcome.result())
        raise
    if then is not None:
        then(result)
    return result
