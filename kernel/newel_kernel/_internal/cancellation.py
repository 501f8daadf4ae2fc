"""Cancellation: whether the running task itself was cancelled, whatever the code in it raises or swallows."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable

from newel_kernel._internal.errors import NewelError, PluginError


def cancellation_count() -> Callable[[], int]:
    """A function that counts the cancellations of the current task, less those that it has taken back."""
    return task.cancelling if (task := asyncio.current_task()) is not None else int  # int() is 0


def cancellations() -> int:
    """The number of cancellations of the running task, less those that it has taken back."""
    return cancellation_count()()


def failure_of(raised: BaseException, owner: str, kind: type[NewelError]) -> Exception:
    """What `owner` raised, as an error; a cancellation of the task itself is raised again."""
    if isinstance(raised, Exception):
        return raised
    if isinstance(raised, asyncio.CancelledError) and cancellations():
        raise raised
    error = kind(f"{owner} raised {type(raised).__name__}: {raised}")
    error.__cause__ = raised
    return error


def stray(raised: BaseException) -> BaseException:
    """`raised`; for a CancelledError without a cancellation of the task, an error that names the code it comes from."""
    if not isinstance(raised, asyncio.CancelledError) or cancellations():
        return raised
    modules = [str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_tb(raised.__traceback__)]
    culprit = [name for name in modules if not name.startswith("asyncio.")][-1]
    return failure_of(raised, f"{culprit}, in a run that nobody cancelled,", PluginError)
