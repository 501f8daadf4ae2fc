"""Deadline: one time limit for all items of an async generator.

``asyncio.timeout`` around each item would set and cancel a timer for each; here one timer serves them all.
"""

from __future__ import annotations

import asyncio
from types import TracebackType


class DeadlineError(Exception):
    """The time is over."""


class Deadline:
    """A time in seconds from now. ``with`` it around each wait: what runs between two waits is not cancelled.

    A wait that the deadline interrupts is cancelled, and no wait begins after it: both raise DeadlineError.
    """

    __slots__ = ("_before", "_fired", "_handle", "_loop", "_over", "_task")

    def __init__(self, seconds: float) -> None:
        self._task: asyncio.Task[object] | None = None
        self._before = 0
        self._over = self._fired = False
        self._loop = asyncio.get_running_loop()
        self._handle = self._loop.call_later(seconds, self._end)

    def __enter__(self) -> None:
        if self._over:
            raise DeadlineError
        self._task = task = asyncio.current_task(self._loop)
        if task is not None:
            self._before = task.cancelling()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task, self._task = self._task, None
        if not self._fired or task is None:
            return
        self._fired = False
        ours_alone = task.uncancel() <= self._before  # whatever a model has done with the cancellation
        if ours_alone and isinstance(error, asyncio.CancelledError):
            raise DeadlineError from error

    def close(self) -> None:
        """Cancel the deadline."""
        self._handle.cancel()

    def _end(self) -> None:
        self._over = True
        if self._task is not None:
            self._fired = True
            self._task.cancel()
