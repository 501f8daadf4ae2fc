"""Clock: what takes the place of the stores' time, waits and threads (`newel.sessions.stored.clockwork`)."""

from __future__ import annotations

import asyncio
from asyncio import events
from collections import deque
from collections.abc import Callable
from queue import Empty
from threading import get_ident
from typing import Any

from tests.simulation.world import SimThread, World


class Flag:
    """`threading.Event`."""

    def __init__(self) -> None:
        self._is_set = False
        self._waiting: list[SimThread] = []

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        for thread in self._waiting:
            thread.world.wake(thread)

    def clear(self) -> None:
        self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        if not self._is_set:
            thread = World.current.thread
            self._waiting.append(thread)
            try:
                World.current.wait(timeout)
            finally:
                self._waiting.remove(thread)
        return self._is_set


class Queue:
    """`queue.SimpleQueue`."""

    def __init__(self) -> None:
        self._items: deque[Any] = deque()
        self._waiting: list[SimThread] = []

    def put(self, item: Any) -> None:
        self._items.append(item)
        for thread in self._waiting:
            thread.world.wake(thread)

    def empty(self) -> bool:
        return not self._items

    def get_nowait(self) -> Any:
        if not self._items:
            raise Empty
        return self._items.popleft()

    def get(self, timeout: float | None = None) -> Any:
        if not self._items:
            thread = World.current.thread
            self._waiting.append(thread)
            try:
                World.current.wait(timeout)
            finally:
                self._waiting.remove(thread)
        return self.get_nowait() if timeout is not None or self._items else self.get()


class RLock:
    """`threading.RLock`."""

    def __init__(self) -> None:
        self._owner: SimThread | None = None
        self._depth = 0
        self._waiting: list[SimThread] = []

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        world = World.current
        thread = world.thread
        end = world.now + timeout
        while self._owner is not None and self._owner is not thread:
            if timeout >= 0 and world.now >= end:
                return False
            self._waiting.append(thread)
            try:
                world.wait(None if timeout < 0 else end - world.now)
            finally:
                self._waiting.remove(thread)
        self._owner = thread
        self._depth += 1
        return True

    def release(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._owner = None
            for thread in self._waiting:
                thread.world.wake(thread)

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Loop(asyncio.BaseEventLoop):
    """An event loop of a simulated thread: it waits in virtual time."""

    def __init__(self) -> None:
        super().__init__()
        self._world = World.current
        self._process = self._world.thread.process
        self._selector = self
        self._selecting: SimThread | None = None
        self._is_woken = False
        self._clock_resolution = 1e-9

    def time(self) -> float:
        return self._world.now

    def run_forever(self) -> None:
        self._check_closed()
        self._check_running()
        self._thread_id = get_ident()
        events._set_running_loop(self)
        try:
            while not self._stopping:
                self._run_once()
        finally:
            self._stopping = False
            self._thread_id = None
            events._set_running_loop(None)

    def select(self, timeout: float | None) -> tuple[()]:
        """The selector's: nothing ever comes but calls from other threads."""
        if timeout == 0 or self._is_woken:
            if not self._is_woken:
                return ()
        else:
            self._selecting = self._world.thread
            self._world.wait(timeout)
            self._selecting = None
        self._is_woken = False
        return ()

    def _process_events(self, event_list: object) -> None:
        """Nothing."""

    def _write_to_self(self) -> None:
        self._is_woken = True
        if self._selecting is not None:
            self._world.wake(self._selecting)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """In a thread of the simulation."""
        future = self.create_future()

        def run() -> None:
            try:
                result, error = func(*args), None
            except Exception as raised:
                result, error = None, raised
            self.call_soon_threadsafe(_settle, future, result, error)

        SimThread(run, name="executor").start()
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self._process.is_dead:
            self._world.fail(f"in a loop of {self._process.name}: {context}", context.get("exception"))


def _settle(future: asyncio.Future[Any], result: object, error: Exception | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)


def replacements(world: World) -> dict[str, Any]:
    """The clockwork of a simulation, by name."""
    return {
        "elapsed": world.elapsed,
        "sleep": world.wait,
        "Thread": SimThread,
        "current_thread": lambda: world.thread,
        "RLock": RLock,
        "Flag": Flag,
        "Queue": Queue,
        "Runner": lambda: asyncio.Runner(loop_factory=Loop),
    }
