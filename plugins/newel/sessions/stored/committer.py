"""Committer: the writes of one event loop, several in one transaction if more wait than connections exist."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from newel.sessions.stored import clockwork
from newel.sessions.stored.outcome import Outcome
from newel.sessions.stored.patience import patience_ends
from newel.sessions.stored.steps import Write
from newel_kernel import seam


class Item:
    """A write that waits or is under way, until a time by `clockwork.elapsed`."""

    __slots__ = ("key", "outcome", "until", "write")

    def __init__(self, write: Write[Any], until: float) -> None:
        self.write = write
        self.key = write.key
        self.until = until
        self.outcome = Outcome()


class Committer:
    """Runs writes with at most `workers` tasks. Writes of one session never run side by side.

    A write that no worker has begun within `patience` seconds fails with the error that `late` makes; `commit` does the
    same for those that it is given.
    """

    def __init__(
        self,
        commit: Callable[[list[Item]], Awaitable[None]],
        workers: int,
        patience: float,
        late: Callable[[], Exception],
    ) -> None:
        self._commit = commit
        self._workers = workers
        self._patience = patience
        self._late = late
        #: Set while writes may wait: it ends the waits that are over.
        self._timer: asyncio.TimerHandle | None = None
        self._expires_at = 0.0
        self._waiting: deque[Item] = deque()
        #: The keys of the writes that the workers are committing.
        self._busy: set[object] = set()
        self._working = 0
        self.tasks: set[asyncio.Task[None]] = set()

    def submit(self, write: Write[Any]) -> Outcome:
        """Queue a write; it is committed in its turn."""
        item = Item(write, patience_ends(self._patience))
        self._waiting.append(item)
        if self._working < self._workers:
            self._working += 1
            task = seam.spawn(self._work())
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        elif self._timer is None or item.until < self._expires_at:
            self._look_again(item.until)
        return item.outcome

    def _look_again(self, until: float) -> None:
        """End the waits that are over at that time, then."""
        if self._timer is not None:
            self._timer.cancel()
        self._expires_at = until
        seconds = max(until - clockwork.elapsed(), 0.0)
        self._timer = asyncio.get_running_loop().call_later(seconds, self._expire)

    def _expire(self) -> None:
        """End the waits that are over. Those that came first need not be first: a retry has waited before."""
        self._timer, now = None, clockwork.elapsed()
        late = [item for item in self._waiting if item.until <= now]
        if late:
            self._waiting = deque(item for item in self._waiting if item.until > now)
        for item in late:
            if item.outcome.begin():
                item.outcome.set_exception(self._late())
        if self._waiting:
            self._look_again(min(item.until for item in self._waiting))

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
