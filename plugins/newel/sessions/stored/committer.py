"""Committer: the writes of one event loop, several in one transaction where more wait than there are connections."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from newel.sessions.stored.outcome import Outcome
from newel.sessions.stored.steps import Write
from newel_kernel import seam


class Item:
    """A write that waits, or is on its way."""

    __slots__ = ("key", "outcome", "write")

    def __init__(self, write: Write[Any]) -> None:
        self.write = write
        self.key: object = getattr(write, "key", self)
        self.outcome = Outcome()


class Committer:
    """Runs writes with at most so many `workers`. Those of one session are never under way side by side."""

    def __init__(self, commit: Callable[[list[Item]], Awaitable[None]], workers: int) -> None:
        self._commit = commit
        self._workers = workers
        self._waiting: deque[Item] = deque()
        #: What the workers are at: the keys of their writes.
        self._busy: set[object] = set()
        self._working = 0
        self.tasks: set[asyncio.Task[None]] = set()

    def submit(self, write: Write[Any]) -> Outcome:
        """Let a write be committed, in its turn."""
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
            while items := self._take():
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

    def _take(self) -> list[Item]:
        """A worker's share of what waits; writes of sessions that other workers write stay, and so do later ones."""
        share = -(-len(self._waiting) // self._workers)
        items: list[Item] = []
        rest: list[Item] = []
        busy = set(self._busy)
        while self._waiting and len(items) < share:
            item = self._waiting.popleft()
            if item.key in busy:
                rest.append(item)
            else:
                items.append(item)
        self._waiting.extendleft(reversed(rest))
        self._busy.update(item.key for item in items)
        return items
