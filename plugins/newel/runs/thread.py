"""A run in a thread: an ordinary generator of events, driven by an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing

from newel_kernel import Event

Events = AsyncGenerator[Event, None]
_END = object()


class _Thread:
    """Runs `start()` step by step: as with ``async for``, the run goes on only when the caller wants the next event."""

    def __init__(self, start: Callable[[], Events]) -> None:
        self._start = start
        self._out: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._demand = asyncio.Event()
        context = contextvars.copy_context()  # the run sees the caller's request, tenant and span
        self._thread = threading.Thread(target=context.run, args=(self._main,), name="newel-run", daemon=True)
        self._thread.start()
        self._ready.wait()

    def _main(self) -> None:
        try:
            asyncio.run(self._drive())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            self._out.put(error)
        finally:
            self._ready.set()
            self._out.put(_END)

    async def _drive(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        self._ready.set()
        await self._demand.wait()
        async with aclosing(self._start()) as events:
            async for event in events:
                self._demand.clear()
                self._out.put(event)
                await self._demand.wait()

    def next(self) -> object:
        """The next event, or _END; raises what the run raises."""
        self._call(self._demand.set)
        result = self._out.get()
        if isinstance(result, BaseException):
            raise result
        return result

    def close(self) -> None:
        """Cancel the run if it has not ended, and wait until it has."""
        if self._task is not None:
            self._call(self._task.cancel)
        self._thread.join()

    def _call(self, function: Callable[[], object]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            try:
                self._loop.call_soon_threadsafe(function)
            except RuntimeError:  # closed in between: the run is over
                return


def iterate(start: Callable[[], Events]) -> Generator[Event, None, None]:
    """The events of `start()`. Closing the generator cancels the run, and returns once none of it runs any more."""
    thread = _Thread(start)
    try:
        while isinstance(event := thread.next(), Event):
            yield event
    finally:
        thread.close()
