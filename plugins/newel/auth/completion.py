"""Completion: a blocking call that ends, and whose result is not lost, although its caller is cancelled.

An endpoint that rotates refresh tokens has spent the old one once it answers: whoever drops the answer loses the
credential.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def to_completion(call: Callable[[], T], *, keep: bool = False) -> T:
    """Run `call` in a thread to its end, then raise CancelledError if the task was cancelled meanwhile.

    With `keep` the result is returned all the same: the caller saves it, and then looks at `Task.cancelling`.
    """
    run = contextvars.copy_context().run
    thread = asyncio.get_running_loop().run_in_executor(None, run, call)  # not a task, which a loop's end would cancel
    cancelled: asyncio.CancelledError | None = None
    while True:
        try:
            result = await asyncio.shield(thread)
            break
        except asyncio.CancelledError as error:
            if thread.cancelled():
                raise
            cancelled = error
    if cancelled is not None and not keep:
        raise cancelled
    return result
