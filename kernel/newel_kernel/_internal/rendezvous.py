"""Rendezvous: one stream of events from several concurrent producers.

Each producer keeps the rule of a single one: it resumes only after its event was committed, that is, after the
consumer asked for the next event.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from newel_kernel._internal import seam
from newel_kernel._internal.events import Event

Events = AsyncGenerator[Event, None]


class Meeting:
    """Where producers leave events and wait, and the consumer picks them up."""

    __slots__ = ("arrived", "closed", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[tuple[Event, asyncio.Future[None]]] = deque()
        self.arrived: asyncio.Future[None] | None = None
        self.closed = False

    def wake(self, _: object = None) -> None:
        """Wake the consumer. Once the consumer is gone, cancel the producers that wait for it instead."""
        while self.closed and self.waiting:
            self.waiting.popleft()[1].cancel()
        if self.arrived is not None and not self.arrived.done():
            self.arrived.set_result(None)

    async def produce(self, events: Events) -> None:
        """Leave `events` here one by one, each after the one before it was committed."""
        loop = asyncio.get_running_loop()
        async with aclosing(events):
            async for event in events:
                committed = loop.create_future()
                self.waiting.append((event, committed))
                self.wake()
                await committed


async def merge_streams(producers: Sequence[Events], meeting: Meeting | None = None) -> Events:
    """The events of all `producers` as they come. If one fails, the others are cancelled and awaited first.

    Through `meeting`, code of a producer can leave further events while the producer still works on its next one.
    """
    meeting = meeting or Meeting()
    tasks = [seam.spawn(meeting.produce(events)) for events in producers]
    for task in tasks:
        task.add_done_callback(meeting.wake)
    running = list(tasks)  # in order: of two that failed, the first one's error is raised
    try:
        while running or meeting.waiting:
            while meeting.waiting:
                event, committed = meeting.waiting[0]
                yield event
                meeting.waiting.popleft()
                if not committed.done():
                    committed.set_result(None)
            running = [task for task in running if not task.done() or task.result()]  # a result is None, or raised
            if running:
                meeting.arrived = asyncio.get_running_loop().create_future()
                await meeting.arrived
    finally:
        meeting.closed = True
        meeting.wake()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
