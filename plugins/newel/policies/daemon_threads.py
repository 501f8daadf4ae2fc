"""DaemonThreads: an executor whose threads keep no process alive."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from queue import SimpleQueue
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
#: What a thread does next; None: it ends.
_Job = Callable[[], None] | None


class DaemonThreads(Executor):
    """At most `most` threads, started when they are needed.

    A ThreadPoolExecutor keeps the process alive until each of its threads has ended: a function that never returns, and
    that nothing waits for any more, would keep a finished program running.
    """

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._started = 0
        self._idle = threading.Semaphore(0)
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._lock = threading.Lock()
        weakref.finalize(self, self._jobs.put, None).atexit = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """The future of a call."""
        future: Future[T] = Future()
        self._jobs.put(partial(_settle, future, partial(fn, *args, **kwargs)))
        if not self._idle.acquire(blocking=False):
            self._start()
        return future

    def _start(self) -> None:
        with self._lock:
            if self._started == self._most:
                return  # one of them takes the job when it is free
            self._started += 1
        name = f"{self._name}_{self._started - 1}"
        threading.Thread(target=_work, args=(self._jobs, self._idle), name=name, daemon=True).start()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let each thread end after its current call, without waiting for it."""
        self._jobs.put(None)


def _work(jobs: SimpleQueue[_Job], idle: threading.Semaphore) -> None:
    while (job := jobs.get()) is not None:
        job()
        del job  # an idle thread must not keep what the job holds
        idle.release()
    jobs.put(None)  # for the other threads


def _settle(future: Future[T], call: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - a plugin boundary; whoever awaits the future raises it
        future.set_exception(error)
    else:
        future.set_result(result)
