"""Exit: a command ends when its work is done, even if threads that it does not wait for still run."""

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


class _DetachedThreads(ThreadPoolExecutor):
    """The threads of `asyncio.to_thread`; the end of the loop does not wait for a tool that never returns."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Start nothing more."""
        super().shutdown(wait=False, cancel_futures=cancel_futures)


def run_loop(work: Coroutine[object, object, T]) -> T:
    """`asyncio.run` that Ctrl-C always wakes, and that does not wait for threads: `exit_process` ends them."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        loop.set_default_executor(_DetachedThreads(thread_name_prefix="newel-work"))
        # Without a signal handler, a loop sleeps on if a signal comes just before it waits, or to another thread:
        # Python notes it, and acts on it when something else wakes the loop. With a handler, every signal wakes it.
        with suppress(AttributeError, RuntimeError):  # on Windows, whose loops always wake; outside the main thread
            loop.add_signal_handler(signal.SIGCONT, lambda: None)
        return runner.run(work)


def exit_process(ended: SystemExit) -> NoReturn:
    """End the process as `ended` says: at once if a thread would keep it alive."""
    here = threading.current_thread()
    if not any(one.is_alive() and not one.daemon for one in threading.enumerate() if one is not here):
        raise ended
    status = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the reader has closed it
            stream.flush()
    os._exit(status)
