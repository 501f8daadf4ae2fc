"""Watching: when to look at a session again that somebody follows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext, suppress

from newel.sessions.contract import WatchedSessions
from newel_kernel import BaseSessionService

#: How long nobody looks after nothing came, in seconds: at first; and at most and how much longer each time, where a
#: change wakes whoever waits (it may get lost, and the end of a run changes no session), and where nothing does.
_FIRST = 0.02
_WOKEN = (5.0, 1.3)
_UNWOKEN = (0.5, 1.15)


class Watch:
    """The waits of one that follows a session: until it changes, or it is time to look anyway.

    `changed` is set by whoever sees a change, and `is_told` says whether all changes are seen now.
    """

    def __init__(self, changed: asyncio.Event | None = None, is_told: Callable[[], bool] = bool) -> None:
        self._changed = changed or asyncio.Event()
        self._is_told = is_told
        self._pause = _FIRST

    def soon(self) -> None:
        """Let the next waits be short: where something has come, more may follow."""
        self._pause = _FIRST

    async def wait(self) -> None:
        """Wait until it is time to look at the session, or at what becomes of its run."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._pause):
                await self._changed.wait()
        longest, growth = _WOKEN if self._is_told() else _UNWOKEN
        self._pause = _FIRST if self._changed.is_set() else min(self._pause * growth, longest)
        self._changed.clear()


def watched(
    store: BaseSessionService, *, app_name: str, user_id: str, session_id: str
) -> AbstractAsyncContextManager[Watch]:
    """A watch over a session of any store."""
    if isinstance(store, WatchedSessions):
        return store.watch(app_name=app_name, user_id=user_id, session_id=session_id)
    return nullcontext(Watch())
