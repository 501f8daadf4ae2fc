"""Outcome: the result of a write that is under way."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from newel.sessions.stored.steps import Write

T = TypeVar("T")


class Outcome(asyncio.Future[Any]):
    """A write that has begun cannot be taken back, so nothing cancels it: a cancelled caller finds it ended.

    Until then, and between two attempts, a cancellation withdraws it. `begin` may be called in any thread.
    """

    __slots__ = ("_undecided", "begun", "error", "until", "unwanted", "value", "withdrawn", "write")
    #: Until when it may wait for others (see `clockwork.elapsed`).
    until: float
    #: The write, and its result or error until the waiting task gets it.
    write: Write[Any]
    value: object
    error: BaseException | None

    def __init__(self, *, loop: asyncio.AbstractEventLoop | None = None) -> None:
        super().__init__(loop=loop)
        self.value, self.error, self.until = None, None, math.inf
        #: `unwanted`: its caller was cancelled after it had begun; it need not be tried again.
        self.begun = self.withdrawn = self.unwanted = False
        self._undecided = [True]

    def begin(self) -> bool:
        """Let the write begin, or go on; False if its caller has withdrawn it."""
        if not self.begun:
            self.begun = self._decide()
        return self.begun

    def pause(self) -> None:
        """Let it wait for another attempt; if its caller was cancelled during the last one, it is withdrawn."""
        if self.begun:
            self.begun = False
            self._undecided.append(True)
        if self.unwanted:
            self.cancel()

    def _decide(self) -> bool:
        try:
            return self._undecided.pop()
        except IndexError:
            return False

    def cancel(self, msg: object | None = None) -> bool:
        """Withdraw the write; refuse if it has begun."""
        self.withdrawn = self.withdrawn or self._decide()
        self.unwanted = True
        return self.withdrawn and super().cancel(msg)


async def settled(outcome: Outcome, then: Callable[[T], object] | None) -> T:
    """The result, after `then` was called with it. A cancelled caller waits for the end of a write that has begun."""
    try:
        result: T = await outcome
    except asyncio.CancelledError:
        if outcome.withdrawn:
            raise
        while not outcome.done():
            with suppress(BaseException):
                await outcome
        if then is not None and not outcome.cancelled() and outcome.exception() is None:
            then(outcome.result())
        raise
    if then is not None:
        then(result)
    return result
