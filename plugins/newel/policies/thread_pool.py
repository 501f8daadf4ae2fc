"""Pool: threads for synchronous functions; functions that return at once run on the event loop itself."""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from weakref import WeakKeyDictionary

from newel.policies.daemon_threads import DaemonThreads
from newel_kernel import Json


class Pool:
    """At most `most` threads, started at first use; a forked child starts its own.

    After `in_place_after` calls in a row of at most `quick` seconds, a function runs in place, until it takes longer.
    """

    def __init__(self, most: int = 8, in_place_after: int = 0, quick: float = 0) -> None:
        self._most = most
        self._in_place_after = in_place_after
        self._seconds = quick
        self._executor: DaemonThreads | None = None
        self._pid = 0
        #: Function -> its quick calls in a row; below zero: it is never to run in place.
        self._quick: WeakKeyDictionary[Callable[..., object], int] = WeakKeyDictionary()

    def call(self, function: Callable[..., object], values: Json) -> object:
        """The result of `function`, in place where it is quick; else an awaitable of the result from a thread."""
        key = _key(function)
        quick_calls = self._quick.get(key, 0)
        if not 0 < self._in_place_after <= quick_calls:
            return self._in_thread(function, values, key, quick_calls)
        start = time.perf_counter()
        try:
            return function(**values)
        finally:
            if time.perf_counter() - start > self._seconds:
                self._quick[key] = -1

    async def _in_thread(
        self, function: Callable[..., object], values: Json, key: Callable[..., object], quick_calls: int
    ) -> object:
        """The result of `function`, called with the context variables of the caller."""
        work = partial(copy_context().run, _timed, function, values)
        threads = self._threads()
        try:
            outcome, error, seconds = await asyncio.get_running_loop().run_in_executor(threads, work)
        except asyncio.CancelledError:
            # The function may run on, and its thread with it: later calls must not wait for it.
            if self._executor is threads:
                self._executor = None
                threads.shutdown(wait=False)
            raise
        if seconds > self._seconds:
            self._quick[key] = min(quick_calls, 0)
        elif 0 <= quick_calls < self._in_place_after:
            self._quick[key] = quick_calls + 1
        if error is not None:
            raise error
        return await outcome if inspect.isawaitable(outcome) else outcome

    def _threads(self) -> DaemonThreads:
        if self._executor is None or self._pid != os.getpid():
            self._executor = DaemonThreads(self._most, "newel-tool")
            self._pid = os.getpid()
        return self._executor


def _key(function: Callable[..., object]) -> Callable[..., object]:
    """The key by which calls are counted: the function, or the class of a callable object that cannot be a weak key."""
    key: Callable[..., object] = getattr(function, "__func__", function)
    kind = type(key)
    return key if kind.__hash__ is not None and kind.__weakrefoffset__ else kind


def _timed(function: Callable[..., object], values: Json) -> tuple[object, BaseException | None, float]:
    """The result or the error of a call (a StopIteration, for example, cannot be set on a future), and its seconds."""
    start = time.perf_counter()
    try:
        return function(**values), None, time.perf_counter() - start
    except BaseException as error:  # noqa: BLE001 - a plugin boundary; the caller raises it
        return None, error, time.perf_counter() - start
