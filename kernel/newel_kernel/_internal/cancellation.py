"""Cancellation: what the running task was told, which is not what somebody in it raises or swallows."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable

from newel_kernel._internal.errors import NewelError, PluginError


def cancellation_count() -> Callable[[], int]:
    """What counts how often the task that runs now was told to end, and has not forgiven."""
    return task.cancelling if (task := asyncio.current_task()) is not None else int  # int() is 0


def cancellations() -> int:
    """How often the running task was told to end, and has not forgiven."""
    return cancellation_count()()


def failure_of(raised: BaseException, owner: str, kind: type[NewelError]) -> Exception:
    """What `owner` raised, as an error; a cancellation that the task was told goes on."""
    if isinstance(raised, Exception):
        return raised
    if isinstance(raised, asyncio.CancelledError) and cancellations():
        raise raised
    error = kind(f"{owner} raised {type(raised).__name__}: {raised}")
    error.__cause__ = raised
    return error


def stray(raised: BaseException) -> BaseException:
    """`raised`; of a CancelledError that nobody told the task, an error that names the code it comes from."""
    if not isinstance(raised, asyncio.CancelledError) or cancellations():
        return raised
    modules = [str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_tb(raised.__traceback__)]
    culprit = [name for name in modules if not name.startswith("asyncio.")][-1]
    return failure_of(raised, f"{culprit}, in a run that nobody cancelled,", PluginError)
