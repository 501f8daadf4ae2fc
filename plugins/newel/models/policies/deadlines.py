"""Deadline: the end of the time for all items of an async generator.

``asyncio.timeout`` around each item would set and cancel a timer for each; here one timer serves them all.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TypeVar

T = TypeVar("T")


class DeadlineError(Exception):
    """The time is over."""


class Deadline:
    """A time in seconds from now. What runs between two items is not cancelled; the next item is not waited for."""

    __slots__ = ("_fired", "_handle", "_over", "_task")

    def __init__(self, seconds: float) -> None:
        self._task: asyncio.Task[object] | None = None
        self._over = self._fired = False
        self._handle = asyncio.get_running_loop().call_later(seconds, self._end)

    async def next(self, items: AsyncGenerator[T, None]) -> T:
        """The next item; a DeadlineError where it does not come in time."""
        if self._over:
            raise DeadlineError
        self._task = task = asyncio.current_task()
        before = task.cancelling() if task is not None else 0
        try:
            return await items.__anext__()
        except asyncio.CancelledError as error:
            if self._take_back(task, before):
                raise DeadlineError from error
            raise
        finally:
            self._take_back(task, before)  # a model may have made something else of it
            self._task = None

    def _take_back(self, task: asyncio.Task[object] | None, before: int) -> bool:
        """Take our cancellation back, if there was one; whether nobody else has cancelled the task as well."""
        if not self._fired or task is None:
            return False
        self._fired = False
        return task.uncancel() <= before

    def close(self) -> None:
        """There is no deadline any more."""
        self._handle.cancel()

    def _end(self) -> None:
        self._over = True
        if self._task is not None:
            self._fired = True
            self._task.cancel()
