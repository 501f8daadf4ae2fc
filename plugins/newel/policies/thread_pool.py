"""Pool: threads for synchronous functions; functions that return at once run on the event loop itself."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import time
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from weakref import WeakKeyDictionary

from newel.connections.per_loop import PerLoop
from newel.policies.daemon_threads import DaemonThreads
from newel_kernel import Json

#: A function that runs in place for this many times the quick duration stalls the loop.
_STALL = 50
#: After a stall in place, and after a shorter delay, a function needs this many times the quick calls. A busy machine
#: may cause both: a process that is suspended looks like a function that blocks.
_AFTER_STALL, _AFTER_DELAY = 16, 4
#: After this many times the needed calls in place, it needs fewer again.
_TRUST = 8


class _Record:
    """What the calls of one function were like."""

    __slots__ = ("needed", "quick_calls")

    def __init__(self, needed: int) -> None:
        #: Its quick calls in a row.
        self.quick_calls = 0
        #: After how many of them it runs in place; 0: never.
        self.needed = needed

    def slow(self, *, stalled: bool) -> None:
        """Note a call in place that took too long."""
        self.quick_calls = 0
        self.needed *= _AFTER_STALL if stalled else _AFTER_DELAY


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
        self._records: WeakKeyDictionary[Callable[..., object], _Record] = WeakKeyDictionary()
        #: Calls wait here for a thread: one that turns out to be quick meanwhile then needs none.
        self._room: PerLoop[asyncio.Semaphore] = PerLoop(partial(asyncio.Semaphore, most))

    def call(self, function: Callable[..., object], values: Json) -> object:
        """The result of `function`, in place where it is quick; else an awaitable of the result from a thread."""
        key = _key(function)
        record = self._records.get(key)
        if record is None:
            record = self._records[key] = _Record(self._in_place_after)
        if not 0 < record.needed <= record.quick_calls:
            return self._in_thread(function, values, record)
        start, collections = time.perf_counter(), gc.get_count()
        try:
            return function(**values)
        finally:
            record.quick_calls += 1
            if time.perf_counter() - start > self._seconds:
                if (seconds := _own_seconds(start, collections)) > self._seconds:
                    record.slow(stalled=seconds > self._seconds * _STALL)
            elif record.quick_calls > record.needed * _TRUST:
                record.quick_calls = record.needed = max(record.needed // _AFTER_DELAY, self._in_place_after)

    async def _in_thread(self, function: Callable[..., object], values: Json, record: _Record) -> object:
        """The result of `function`, called with the context variables of the caller."""
        async with self._room.get():
            if 0 < record.needed <= record.quick_calls:  # found out while this call waited
                outcome = self.call(function, values)
            else:
                outcome = await self._from_thread(function, values, record)
        return await outcome if inspect.isawaitable(outcome) else outcome

    async def _from_thread(self, function: Callable[..., object], values: Json, record: _Record) -> object:
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
        record.quick_calls = 0 if seconds > self._seconds else record.quick_calls + 1
        if error is not None:
            raise error
        return outcome

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
    start, collections = time.perf_counter(), gc.get_count()
    try:
        return function(**values), None, _own_seconds(start, collections)
    except BaseException as error:  # noqa: BLE001 - a plugin boundary; the caller raises it
        return None, error, _own_seconds(start, collections)


def _own_seconds(start: float, collections: tuple[int, int, int]) -> float:
    """The seconds since `start`; 0 if the garbage collector, whose counts were `collections`, has run once since then.

    It runs in whatever code makes the 700th object, and takes milliseconds in a large program. A function in which it
    runs more often makes many objects: then the time is its own.
    """
    seconds = time.perf_counter() - start
    _, young, old = collections
    now = gc.get_count()[1:]
    once = now != (young, old) and now in ((young + 1, old), (0, old + 1), (0, 0))
    return 0.0 if once else seconds
