"""Meeting: the rendezvous at which concurrent runs of a graph hand over their events, while new runs start.

As in the kernel, a producer resumes only after its event was committed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import TypeVar

from newel_kernel import Event, seam

T = TypeVar("T")
#: What `Meeting.produce` returns, and nothing else does.
PRODUCED = object()
#: An event, and what its producer waits for.
Handover = tuple[Event, asyncio.Future[None]]


class Meeting:
    """Tasks, the events that they wait with, and the one consumer."""

    __slots__ = ("_arrived", "arrivals", "closed", "tasks")

    def __init__(self) -> None:
        self.arrivals: deque[Handover | asyncio.Task[object]] = deque()
        self.tasks: set[asyncio.Task[object]] = set()
        self._arrived: asyncio.Future[None] | None = None
        self.closed = False

    def spawn(
        self, work: Coroutine[object, object, T], ended: Callable[[asyncio.Task[T]], None] | None = None
    ) -> asyncio.Task[T]:
        """Run `work` as a task of this meeting; `ended` is called with it afterwards."""
        task: asyncio.Task[T] = seam.spawn(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        if ended is not None:
            task.add_done_callback(ended)
        return task

    def start(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        """Run `work` as a task whose end arrives too."""
        return self.spawn(work, self._task_ended)

    def _task_ended(self, task: asyncio.Task[T]) -> None:
        self.arrivals.append(task)
        self._wake()

    def _wake(self) -> None:
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)

    async def emit(self, event: Event) -> None:
        """Hand `event` over; return once it is committed. If the consumer has left, raise CancelledError."""
        if self.closed:
            raise asyncio.CancelledError
        committed = asyncio.get_running_loop().create_future()
        self.arrivals.append((event, committed))
        self._wake()
        await committed

    async def produce(self, events: AsyncGenerator[Event, None]) -> object:
        """Hand over all `events`."""
        async with aclosing(events):
            async for event in events:
                await self.emit(event)
        return PRODUCED

    async def next(self) -> Handover | asyncio.Task[object]:
        """The next event that is handed over, or a task that was started and ended."""
        while not self.arrivals:
            self._arrived = asyncio.get_running_loop().create_future()
            await self._arrived
        return self.arrivals.popleft()

    async def close(self) -> None:
        """Cancel what still runs, and wait for its end."""
        self.closed = True
        tasks = list(self.tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)


def committed(future: asyncio.Future[None]) -> None:
    """Let the producer of a committed event go on."""
    if not future.done():
        future.set_result(None)
