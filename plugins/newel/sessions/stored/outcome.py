"""Outcome: the result of a write that is on its way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Outcome(asyncio.Future[Any]):
    """It cannot be called back, so nothing cancels it: whoever is cancelled finds it ended, one way or the other."""

    def cancel(self, msg: object | None = None) -> bool:
        """Refuse."""
        return False


async def settled(outcome: Outcome, then: Callable[[T], object] | None) -> T:
    """The result, after `then` was called with it; where the caller is cancelled, once it is there."""
    cancelled: asyncio.CancelledError | None = None
    while True:
        try:
            await outcome
        except asyncio.CancelledError as error:
            cancelled = error
        except BaseException:
            if cancelled is None:
                raise
        if outcome.done():
            break
    if then is not None and outcome.exception() is None:
        then(outcome.result())
    if cancelled is not None:
        raise cancelled
    return outcome.result()  # type: ignore[no-any-return]
