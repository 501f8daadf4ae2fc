"""Leaving: a command ends when its work is done, whatever still runs in threads that nobody waits for."""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import sys
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NoReturn, TypeVar

T = TypeVar("T")


class _Unwaited(ThreadPoolExecutor):
    """The threads of `asyncio.to_thread`; the end of the loop does not wait for those that a tool never left."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Start nothing more."""
        super().shutdown(wait=False, cancel_futures=cancel_futures)


def run_loop(work: Coroutine[object, object, T]) -> T:
    """`asyncio.run` that Ctrl-C always wakes, and that does not wait for threads at the end; `leave` ends those."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        loop.set_default_executor(_Unwaited(thread_name_prefix="newel-work"))
        # Without any handler of its own, a loop sleeps on where a signal comes just before it waits, or to a thread:
        # Python notes that, and acts on it when something else wakes the loop. With one, every signal wakes it.
        with suppress(AttributeError, RuntimeError):  # on Windows, whose loops always wake; outside the main thread
            loop.add_signal_handler(signal.SIGCONT, lambda: None)
        return runner.run(work)


def leave(ended: SystemExit) -> NoReturn:
    """End the process as `ended` says: at once where a thread would keep it alive."""
    here = threading.current_thread()
    if not any(one.is_alive() and not one.daemon for one in threading.enumerate() if one is not here):
        raise ended
    status = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # closed by whoever read it
            stream.flush()
    os._exit(status)
