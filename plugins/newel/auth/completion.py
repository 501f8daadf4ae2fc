"""Completion: blocking calls that end, and whose results are not lost, although the task is cancelled meanwhile.

An endpoint that rotates refresh tokens has spent the old one once it answers: whoever drops the answer loses the
credential. Only the task that also saves the answer may finish; elsewhere a cancellation is heard at once.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
_finishes: contextvars.ContextVar[bool] = contextvars.ContextVar("finishes", default=False)


@contextmanager
def finishing() -> Iterator[None]:
    """Let blocking calls of this task end before it is cancelled; then CancelledError is raised, if it was."""
    token = _finishes.set(True)
    try:
        yield
    finally:
        _finishes.reset(token)
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def in_thread(call: Callable[[], T]) -> T:
    """Run `call` in a thread; within `finishing`, its result is returned although the task was cancelled."""
    if not _finishes.get():
        return await asyncio.to_thread(call)
    run = contextvars.copy_context().run
    thread = asyncio.get_running_loop().run_in_executor(None, run, call)  # not a task, which a loop's end would cancel
    while True:
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            if thread.cancelled():
                raise
