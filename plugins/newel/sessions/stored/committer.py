"""Committer: the writes of one event loop, several in one transaction if more wait than connections exist.

A write that could not be made, as with a locked row, leaves its worker to others and is tried again meanwhile.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from newel.sessions.stored import clockwork
from newel.sessions.stored.outcome import Outcome
from newel.sessions.stored.patience import patience_ends
from newel.sessions.stored.steps import Write
from newel_kernel import seam

#: How long to wait before the second attempt, and before any, in seconds.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.5


class Item:
    """A write that waits or is under way, until a time by `clockwork.elapsed`."""

    __slots__ = ("attempts", "key", "outcome", "until", "write")

    def __init__(self, write: Write[Any], until: float) -> None:
        self.write = write
        self.key = write.key
        self.until = until
        self.outcome = Outcome()
        #: How often it has been tried alone.
        self.attempts = 0


class Committer:
    """Runs writes with at most `workers` tasks, and one more for further attempts. No session is written side by side.

    `commit` makes the first attempt of several writes and `retry` a further one; what they leave undone is tried again.
    They end the waits of their writes that are over. A write that no worker has begun within `patience` seconds fails
    with the error that `late` makes.
    """

    def __init__(
        self,
        commit: Callable[[list[Item]], Awaitable[None]],
        retry: Callable[[list[Item]], Awaitable[None]],
        workers: int,
        patience: float,
        late: Callable[[], Exception],
    ) -> None:
        self._commit = commit
        self._retry = retry
        self._workers = workers
        self._patience = patience
        self._late = late
        #: Set while writes may wait: it ends the waits that are over. It is never later than the first of them.
        self._timer: asyncio.TimerHandle | None = None
        self._expires_at = 0.0
        self._waiting: deque[Item] = deque()
        #: The writes whose first attempt has failed, and whether there are new ones.
        self._unfinished: list[Item] = []
        self._more = asyncio.Event()
        self._is_retrying = False
        #: The keys of the writes that are being committed, or are to be tried again.
        self._busy: set[object] = set()
        self._working = 0
        self.tasks: set[asyncio.Task[None]] = set()

    def submit(self, write: Write[Any]) -> Outcome:
        """Queue a write; it is committed in its turn."""
        item = Item(write, patience_ends(self._patience))
        self._waiting.append(item)
        self._expire_by(item.until)
        self._begin_work()
        return item.outcome

    def _begin_work(self) -> None:
        """Let one more worker begin, unless all work."""
        if self._working < self._workers:
            self._working += 1
            self._spawn(self._work())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = seam.spawn(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def _expire_by(self, until: float) -> None:
        """End the waits that are over at that time, then."""
        if self._timer is not None:
            if self._expires_at <= until:
                return
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
            if not item.outcome.done():
                item.outcome.set_exception(self._late())
        if self._waiting:
            self._expire_by(min(item.until for item in self._waiting))

    async def _work(self) -> None:
        cancelled: asyncio.CancelledError | None = None
        try:
            while items := self._next_share():
                try:
                    try:
                        await self._commit(items)
                    except asyncio.CancelledError as error:  # the loop ends, and waits for its last tasks
                        if cancelled is not None:
                            raise
                        cancelled = error
                    if cancelled is not None:  # nobody would wait for a new task
                        await self._persist(items, asyncio.Event())
                finally:
                    self._settle(items, ended=cancelled is not None)
        finally:
            self._working -= 1
        if cancelled is not None:
            raise cancelled

    def _settle(self, items: list[Item], *, ended: bool) -> None:
        """Let what is undone be tried again, or end it with the loop; the sessions of the others are free."""
        unfinished = []
        for item in items:
            if not item.outcome.done() and ended:
                item.outcome.set_exception(asyncio.CancelledError("the event loop has ended"))
            if item.outcome.done():
                self._busy.discard(item.key)
            else:
                unfinished.append(item)
        if unfinished:
            self._unfinished += unfinished
            self._more.set()
            if not self._is_retrying:
                self._is_retrying = True
                self._spawn(self._try_again())

    async def _try_again(self) -> None:
        """Try again what is unfinished, until nothing is."""
        try:
            await self._persist(self._unfinished, self._more)
        except asyncio.CancelledError:  # the loop ends, and waits for its last tasks
            await self._persist(self._unfinished, self._more)
            raise
        finally:
            self._is_retrying = False
            items, self._unfinished = self._unfinished, []
            self._settle(items, ended=True)

    async def _persist(self, items: list[Item], more: asyncio.Event) -> None:
        """Try `items` again until all are done, and so removed; `more` says that there are new ones."""
        pause = _FIRST_PAUSE
        while True:
            done = [item for item in items if item.outcome.done()]
            items[:] = [item for item in items if not item.outcome.done()]
            self._settle(done, ended=False)
            if done and self._waiting:  # perhaps for one of these sessions
                self._begin_work()
            if not items:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(pause * (0.5 + random.random())):  # noqa: S311 - two must not collide again
                    await more.wait()
            pause = _FIRST_PAUSE if more.is_set() else min(pause * 2, _LONGEST_PAUSE)
            more.clear()
            await self._retry(list(items))

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
            elif not item.outcome.done():  # else its caller was cancelled meanwhile
                items.append(item)
        self._waiting.extendleft(reversed(rest))
        self._busy.update(item.key for item in items)
        return items
