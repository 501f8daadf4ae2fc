"""Cancellation: whether the task, or a person, wants the end, whatever the code in it raises or swallows."""

from __future__ import annotations

import asyncio
import signal
import traceback
from collections.abc import Callable
from opcode import opmap
from types import TracebackType
from typing import Any

from newel_kernel._internal.errors import NewelError, PluginError, error_text

_RAISE = opmap["RAISE_VARARGS"]


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
    error = kind(f"{owner} raised {error_text(raised)}")
    error.__cause__ = raised
    return error


def is_interrupt(error: BaseException) -> bool:
    """Whether a person at the terminal, or whoever closes the run, wants the end: no code has raised `error` itself."""
    seen: set[int] = set()
    one: BaseException | None = error
    while isinstance(one, (KeyboardInterrupt, GeneratorExit)) and id(one) not in seen:
        if not _is_raised_by_hand(one.__traceback__):
            return True
        seen.add(id(one))
        one = one.__cause__ or one.__context__
    return False


def _is_raised_by_hand(traceback: TracebackType | None) -> bool:
    """Whether a `raise` has raised it, outside of the program's own handler of the signal."""
    handler: Any = signal.getsignal(signal.SIGINT)
    while hasattr(handler, "func"):
        handler = handler.func  # of a partial
    handles = getattr(getattr(handler, "__func__", handler), "__code__", None)
    by_hand = False
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code is handles:
            return False
        by_hand = traceback.tb_lasti >= 0 and code.co_code[traceback.tb_lasti] == _RAISE
        traceback = traceback.tb_next
    return by_hand


def stray(raised: BaseException) -> BaseException:
    """`raised`; for a CancelledError without a cancellation of the task, an error that names the code it comes from."""
    if not isinstance(raised, asyncio.CancelledError) or cancellations():
        return raised
    modules = [str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_tb(raised.__traceback__)]
    culprit = [name for name in modules if not name.startswith("asyncio.")][-1]
    return failure_of(raised, f"{culprit}, in a run that nobody cancelled,", PluginError)
