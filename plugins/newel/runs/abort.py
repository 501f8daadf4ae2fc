"""Abort: ending a run by a signal of its caller."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Protocol

from newel_kernel import Event, seam

Events = AsyncGenerator[Event, None]
_POLL_SECONDS = 0.05


class AbortSignal(Protocol):
    """An asyncio.Event, or anything like it; one whose `wait` is not a coroutine (threading.Event) is polled."""

    def is_set(self) -> bool:
        """Whether the run is to end."""

    def wait(self) -> object:
        """Return (or, if it is a coroutine, end) once the run is to end."""


async def abortable(events: Events, signal: AbortSignal) -> Events:
    """`events` until `signal` is set: then the running step is cancelled, as if its task were, and the events just end.

    Only a step of `events` is ever cancelled, never what the caller does between two steps.
    """
    ending = _Signalled(signal)
    watcher = seam.spawn(_watch(signal, ending))
    try:
        async with aclosing(endable(events, ending)) as endable_events:
            async for event in endable_events:
                yield event
    finally:
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)


async def endable(events: Events, ending: Ending) -> Events:
    """`events` until `ending` ends them: the running step is cancelled, and the events just end, or raise its error."""
    async with aclosing(events):
        while not ending.over:
            step = ending.begin()
            try:
                event = await anext(events)
            except StopAsyncIteration:
                return
            except asyncio.CancelledError:
                if not step.forgive():
                    raise
                break
            finally:
                step.task = None
            step.forgive()
            yield event
    if ending.error is not None:
        raise ending.error


class Ending:
    """The end of a run by somebody else, in any thread: another run that wants its session, or a store that lost it."""

    __slots__ = ("_is_ended", "_loop", "_step", "error", "is_interruptible")

    def __init__(self, is_interruptible: bool) -> None:
        #: Whether another run may end this one.
        self.is_interruptible = is_interruptible
        self._is_ended = False
        #: What the run's caller gets; None: its events just end.
        self.error: Exception | None = None
        self._step = _Step()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def over(self) -> bool:
        """Whether no further step may begin."""
        return self._is_ended

    def begin(self) -> _Step:
        """A step of the run begins in the current task."""
        self._step.task = task = asyncio.current_task()
        self._loop = task.get_loop() if task is not None else None
        return self._step

    def end(self, error: Exception | None = None) -> None:
        """End the run: cancel the step that is under way, in its event loop; the next step does not begin."""
        if self._is_ended:
            return
        self.error, self._is_ended, loop = error, True, self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop is closed: the run is over
                loop.call_soon_threadsafe(self._step.cancel)


class _Signalled(Ending):
    """The end of a run by a signal: no step begins once it is set, even before the watcher has seen it."""

    __slots__ = ("_signal",)

    def __init__(self, signal: AbortSignal) -> None:
        super().__init__(is_interruptible=False)
        self._signal = signal

    @property
    def over(self) -> bool:
        """Whether the signal is set."""
        return self._signal.is_set()


class _Step:
    """The task that waits for the next event, as long as it waits."""

    __slots__ = ("cancelled", "task")

    def __init__(self) -> None:
        self.task: asyncio.Task[object] | None = None
        self.cancelled: asyncio.Task[object] | None = None

    def cancel(self) -> None:
        if self.task is not None:
            self.cancelled = self.task
            self.task.cancel()

    def forgive(self) -> bool:
        """Take our cancellation back; return whether it was the only one."""
        task, self.cancelled = self.cancelled, None
        return task is not None and task.uncancel() == 0


async def _watch(signal: AbortSignal, ending: Ending) -> None:
    wait = signal.wait
    if inspect.iscoroutinefunction(wait):
        await wait()
    while not signal.is_set():  # noqa: ASYNC110 - not an event of this loop
        await asyncio.sleep(_POLL_SECONDS)
    ending.end()
