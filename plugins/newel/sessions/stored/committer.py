"""Committer: the writes of one event loop, several in one transaction if more wait than connections exist."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from newel.sessions.stored.outcome import Outcome
from newel.sessions.stored.steps import Write
from newel_kernel import seam


class Item:
    """A write that waits or is under way."""

    __slots__ = ("key", "outcome", "write")

    def __init__(self, write: Write[Any]) -> None:
        self.write = write
        self.key = write.key
        self.outcome = Outcome()


class Committer:
    """Runs writes with at most `workers` tasks. Writes of one session never run side by side."""

    def __init__(self, commit: Callable[[list[Item]], Awaitable[None]], workers: int) -> None:
        self._commit = commit
        self._workers = workers
        self._waiting: deque[Item] = deque()
        #: The keys of the writes that the workers are committing.
        self._busy: set[object] = set()
        self._working = 0
        self.tasks: set[asyncio.Task[None]] = set()

    def submit(self, write: Write[Any]) -> Outcome:
        """Queue a write; it is committed in its turn."""
        item = Item(write)
        self._waiting.append(item)
        if self._working < self._workers:
            self._working += 1
            task = seam.spawn(self._work())
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        return item.outcome

    async def _work(self) -> None:
        cancelled: asyncio.CancelledError | None = None
        try:
            while items := self._next_share():
                try:
                    await self._commit(items)
                except asyncio.CancelledError as error:  # the loop ends, and waits for its last tasks
                    if cancelled is not None:
                        raise
                    cancelled = error
                    await self._commit(items)
                finally:
                    self._busy.difference_update([item.key for item in items])
                    for item in items:
                        if not item.outcome.done():
                            item.outcome.set_exception(asyncio.CancelledError("the event loop has ended"))
        finally:
            self._working -= 1
        if cancelled is not None:
            raise cancelled

    def _next_share(self) -> list[Item]:
        """A worker's share of the waiting writes; those of sessions that another worker is writing stay queued."""
        share = -(-len(self._waiting) // self._workers)
        items: list[Item] = []
        rest: list[Item] = []
        busy = set(self._busy)
        while self._waiting and len(items) < share:
            item = self._waiting.popleft()
            if item.key in busy:
                rest.append(item)
            elif item.outcome.begin():  # else its caller was cancelled meanwhile
                items.append(item)
        self._waiting.extendleft(reversed(rest))
        self._busy.update(item.key for item in items)
        return items
