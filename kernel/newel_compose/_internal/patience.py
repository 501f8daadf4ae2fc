"""Patience: how long code of others may take while plugins are found and composed."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_log = logging.getLogger("newel.plugins")
#: Seconds that one import, or one call of a registration hook, may take.
USUAL = 8.0
#: Seconds after which code that swallowed the end of its time is ended again.
_AGAIN = 0.5
#: The variable of the environment that sets it; 0: no limit.
VARIABLE = "NEWEL_PLUGIN_SECONDS"


class OverdueError(BaseException):
    """Code took longer than it may. No Exception: that would be swallowed too easily."""


def patience() -> float:
    """The seconds that the environment allows, or the usual ones; 0: no limit."""
    try:
        return max(0.0, float(os.environ.get(VARIABLE) or USUAL))
    except ValueError:
        return USUAL


@contextmanager
def limited() -> Iterator[None]:
    """End the block by an OverdueError if it takes too long.

    Only the main thread can be ended, and only if the system has timers; in another thread the delay is logged.
    """
    seconds = patience()
    if not seconds:
        yield
    elif threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer"):
        with _ended_after(seconds):
            yield
    else:
        with _told_after(seconds):
            yield


@contextmanager
def _ended_after(seconds: float) -> Iterator[None]:
    is_over = False

    def end(number: int, frame: FrameType | None) -> None:
        if not is_over:
            raise OverdueError(f"it did not end within {seconds:g} s; {VARIABLE} allows more")

    handler = signal.signal(signal.SIGALRM, end)
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    begun = time.monotonic()
    try:
        yield
    finally:
        is_over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left:  # the program's own timer goes on
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - begun), 0.001), interval)


@contextmanager
def _told_after(seconds: float) -> Iterator[None]:
    text = "newel: a plugin has been importing for %g s in the thread %r: %s"
    thread, name = threading.get_ident(), threading.current_thread().name

    def tell() -> None:
        frame = sys._current_frames().get(thread)
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "it is over"
        _log.warning(text, seconds, name, place)

    timer = threading.Timer(seconds, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
