"""Deadline: one time limit for all items of an async generator.

``asyncio.timeout`` around each item would set and cancel a timer for each. Here one timer of an event loop serves all
its deadlines: to set and cancel one for each call of a model costs 200 opcodes, a twentieth of a text turn.
"""

from __future__ import annotations

import asyncio
import math
from types import TracebackType

from newel.connections.per_loop import PerLoop


class DeadlineError(Exception):
    """The time limit has passed."""


class Deadline:
    """A time in seconds from now. ``with`` it around each wait: what runs between two waits is not cancelled.

    A wait that the deadline interrupts is cancelled, and no wait begins after it: both raise DeadlineError.
    """

    __slots__ = ("_before", "_clock", "_loop", "_over", "_task", "end")

    def __init__(self, seconds: float) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self._clock = clock = _clocks.of(loop)
        #: The task that waits.
        self._task: asyncio.Task[object] | None = None
        self._over = False
        #: By the loop's clock.
        self.end = end = loop.time() + seconds
        clock.open.add(self)
        if end < clock.next:
            clock.set(end, loop)

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
        if not self._over or task is None:
            return  # else it has passed during this wait, and has cancelled it
        ours_alone = task.uncancel() <= self._before  # whatever a model has done with the cancellation
        if ours_alone and isinstance(error, asyncio.CancelledError):
            raise DeadlineError from error

    def close(self) -> None:
        """Cancel the deadline."""
        self._clock.open.discard(self)

    def expire(self) -> None:
        """End the wait, if there is one, and allow no other one."""
        self._over = True
        if self._task is not None:
            self._task.cancel()


class _Clock:
    """The open deadlines of an event loop, and when it looks at them next."""

    __slots__ = ("next", "open")

    def __init__(self) -> None:
        self.open: set[Deadline] = set()
        self.next = math.inf

    def set(self, when: float, loop: asyncio.AbstractEventLoop) -> None:
        """Look at the deadlines at a time of the loop's clock; a timer for a later time stays, and finds less to do."""
        self.next = when
        loop.call_at(when, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time() + _RESOLUTION
        if now < self.next:
            return  # a timer from before an earlier deadline was set
        over = [one for one in self.open if one.end <= now]
        self.open.difference_update(over)
        self.next = math.inf
        if self.open:
            self.set(min(one.end for one in self.open), loop)
        for one in over:
            one.expire()


#: How much earlier than its time a loop may call a timer, in seconds.
_RESOLUTION = 0.001
_clocks: PerLoop[_Clock] = PerLoop(_Clock)
