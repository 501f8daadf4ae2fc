"""Waiting: for cancelled tasks to end, and for a turn at a lock."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterable
from typing import Any

_log = logging.getLogger(__name__)


async def cancelled(tasks: Iterable[asyncio.Task[Any]], seconds: float) -> list[asyncio.Task[Any]]:
    """Cancel `tasks` and wait `seconds` for their end; return those that have not ended. Their errors are retrieved."""
    pending = [task for task in dict.fromkeys(tasks) if not task.done()]
    for task in pending:
        task.cancel()
    if not pending:
        return []
    done, left = await asyncio.wait(pending, timeout=seconds)
    for task in done:
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.debug("the task %r ended with %s", task.get_name(), type(error).__name__)
    for task in left:
        _log.warning("the task %r did not end within %g s of being cancelled", task.get_name(), seconds)
    return list(left)


class OneAtATime:
    """A lock that costs nothing while it is free: asyncio.Lock makes three coroutines even then."""

    __slots__ = ("_taken", "_waiting")

    def __init__(self) -> None:
        self._taken = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    def enter_now(self) -> bool:
        """Enter, if the lock is free; return whether it was."""
        if self._taken:
            return False
        self._taken = True
        return True

    async def enter(self) -> None:
        """Wait until it is this caller's turn, in order of arrival."""
        if self.enter_now():
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled():  # it was this task's turn when it was cancelled
                self.leave()
            raise

    def leave(self) -> None:
        """Let the next one in."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._taken = False
