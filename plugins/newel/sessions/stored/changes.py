"""Changes: whoever follows a session of a database learns that it has changed, in this process and in others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from typing import TYPE_CHECKING, ClassVar, Protocol

from newel.connections.wakes import Wakes
from newel.sessions.stored import clockwork
from newel.sessions.stored.rows import Key
from newel.sessions.stored.steps import Batch, Query, Steps
from newel.sessions.watching import Watch

if TYPE_CHECKING:
    from newel.sessions.stored.database import Database
    from newel.sessions.stored.statements import Statements

#: After so many seconds nobody waits any more for an announcement that has not begun.
_LOST = 1.0
#: The least time between two announcements, and the longest, in seconds: it doubles while more than so many changes
#: come in each _REST of it, since an announcement costs the database as much as an append.
_REST, _LONGEST_REST, _MANY = 0.02, 0.16, 2


class Listener(Protocol):
    """Hears of other processes which sessions have changed."""

    def listening(self, number: int) -> AbstractContextManager[Callable[[], bool]]:
        """A block in which changes of a session are heard; what it gives says whether they all are now."""

    async def close(self) -> None:
        """Hear no more in the running event loop."""


class _Announcement:
    """Tells other processes that sessions have changed: all those that were added until it begins."""

    single: ClassVar[bool] = True
    shared: ClassVar[bool] = True
    key: ClassVar[Key] = Key("", "", "changes")

    def __init__(self) -> None:
        self.numbers: set[int] = set()
        #: Whether it takes no more, and when it counts as lost.
        self.is_closed = False
        self.lost_at = clockwork.elapsed() + _LOST

    def steps(self, sql: Statements, batch: Batch) -> Steps[None]:
        """See `Write`."""
        self.is_closed = True
        if sql.announce:
            yield Query(sql.announce, ([*self.numbers],))


class Changes:
    """The changes of a service's sessions, and who waits for them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._wakes = Wakes()
        self._listener: Listener | None = None
        self._announcement: _Announcement | None = None
        self._rest, self._rests_until = _REST, 0.0
        #: How many changes were to be announced since the announcement before.
        self._count = 0

    def happened(self, number: int, followed: bool) -> None:
        """Wake those who follow a session here, and those elsewhere, if there are any.

        Nothing waits for that. A notification takes a lock at its commit that lets no other transaction commit
        meanwhile, so the append's own transaction must not have one. If it gets lost, the others look later.
        """
        self._wakes.wake(number)
        if followed:
            self._count += 1
            next_ = self._announcement
            if next_ is None or next_.is_closed or clockwork.elapsed() > next_.lost_at:
                next_ = self._announcement = _Announcement()
                self._send(next_)
            next_.numbers.add(number)

    def _send(self, announcement: _Announcement) -> None:
        """Send it at once, or some moments after the one before: many appends need not be told one by one."""
        now, is_busy = clockwork.elapsed(), self._count > _MANY * self._rest / _REST
        self._count = 0
        self._rest = min(self._rest * 2, _LONGEST_REST) if is_busy else max(self._rest / 2, _REST)
        pause, self._rests_until = self._rests_until - now, max(now, self._rests_until) + self._rest
        if pause <= 0:
            self._database.send(announcement)
        else:
            asyncio.get_running_loop().call_later(pause, self._database.send, announcement)

    @asynccontextmanager
    async def watch(self, number: int) -> AsyncIterator[Watch]:
        """A watch over a session."""
        self._listener = self._listener or self._database.listener(self._wakes.wake)
        with self._wakes.watched(number) as changed:
            if self._listener is None:
                yield Watch(changed)
            else:
                with self._listener.listening(number) as is_told:
                    yield Watch(changed, is_told)

    async def close(self) -> None:
        """Hear no more."""
        if self._listener is not None:
            await self._listener.close()
