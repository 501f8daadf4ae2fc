"""Waiting for tasks that were told to end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

_log = logging.getLogger(__name__)


async def cancelled(tasks: Iterable[asyncio.Task[Any]], seconds: float) -> list[asyncio.Task[Any]]:
    """Cancel `tasks` and wait so long for their end; those that have not ended then. What they raise is read."""
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
