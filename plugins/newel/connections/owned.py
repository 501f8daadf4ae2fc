"""Owned: a connection that one task opens, holds and closes, whoever uses it.

The SDKs of protocols hold their tasks in scopes that only the task which entered them may leave. Here the owner enters
and leaves them, and nobody else: each piece of work on the connection is a task of its own, its caller waits on a
future, and a caller that is cancelled or out of time only cancels that task. Any task, and any thread, may close it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

from newel_kernel import seam

T = TypeVar("T")
R = TypeVar("R")


class ConnectionEndedError(Exception):
    """The connection has ended. Its cause is what ended it, or None if it was closed."""

    def __init__(self, message: str, *, begun: bool) -> None:
        super().__init__(message)
        #: Whether the work had begun, so that it may have had an effect.
        self.begun = begun


class Owned(Generic[T]):
    """A connection that `open` enters, in the running loop.

    Closing ends the pieces of work, then leaves the context; an owner that has not left it after `patience` seconds is
    cancelled, and waited for as long again.
    """

    def __init__(
        self,
        open: Callable[[], AbstractAsyncContextManager[T]],
        *,
        name: str,
        patience: float = 10.0,
    ) -> None:
        self.name = name
        self.loop = asyncio.get_running_loop()
        self._open = open
        self._patience = patience
        self._work: set[asyncio.Task[Any]] = set()
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[T] = self.loop.create_future()
        self._ready.add_done_callback(_retrieve)
        #: Why the connection ended before it was closed.
        self.failure: BaseException | None = None
        self._owner = seam.spawn(self._own(), name=name)
        self._owner.add_done_callback(self._end)

    @property
    def ended(self) -> bool:
        """Whether no further work can begin."""
        return self._stop.is_set() or self._owner.done()

    @property
    def gone(self) -> bool:
        """Whether the context has been left."""
        return self._owner.done()

    async def ready(self) -> T:
        """What the context gave; waits until it is entered, and raises what entering it has raised."""
        if self._ready.done():
            return self._ready.result()
        return await asyncio.shield(self._ready)

    def begin(self, work: Callable[[T], Coroutine[Any, Any, R]]) -> asyncio.Future[R]:
        """Begin a piece of work, once the connection is ready; cancelling the future cancels the work.

        The future is done at once when it is cancelled: what the work does about it goes on in its own task.
        """
        if self.ended or not self._ready.done():
            raise ConnectionEndedError(f"{self.name} has ended", begun=False)
        result: asyncio.Future[R] = self.loop.create_future()
        task = seam.spawn(work(self._ready.result()), name=self.name)
        self._work.add(task)

        def done(_: asyncio.Task[R]) -> None:
            self._work.discard(task)
            if result.done():
                _retrieve(task)
            elif task.cancelled():
                result.set_exception(ConnectionEndedError(f"{self.name} has ended", begun=True))
            elif (error := task.exception()) is not None:
                result.set_exception(error)
            else:
                result.set_result(task.result())

        def abandoned(_: asyncio.Future[R]) -> None:
            if not task.done():
                task.cancel()

        task.add_done_callback(done)
        result.add_done_callback(abandoned)
        return result

    async def call(self, work: Callable[[T], Coroutine[Any, Any, R]]) -> R:
        """The result of a piece of work."""
        await self.ready()
        return await self.begin(work)

    def when_gone(self, then: Callable[[], object]) -> None:
        """Call `then` once the context has been left."""
        self._owner.add_done_callback(lambda _: then())

    def retire(self) -> None:
        """Close the connection without waiting for it."""
        self._stop.set()

    async def wait(self, seconds: float | None = None) -> None:
        """Wait until the connection has ended, for at most `seconds`."""
        await asyncio.wait((self._owner,), timeout=seconds)

    async def close(self) -> None:
        """End the connection and wait for it; from any task of any running loop."""
        if self.loop is not asyncio.get_running_loop():
            await in_loop(self.loop, self.close)
            return
        self._stop.set()
        await self.wait(self._patience)
        if not self._owner.done():
            self._owner.cancel()
            await self.wait(self._patience)

    async def _own(self) -> None:
        async with self._open() as held:
            self._ready.set_result(held)
            try:
                await self._stop.wait()
            finally:
                await self._settle()

    async def _settle(self) -> None:
        """End the pieces of work, which need the open connection to do so well."""
        self._stop.set()
        for task in self._work:
            task.cancel()
        if self._work:
            await asyncio.wait(self._work, timeout=self._patience / 2)

    def _end(self, owner: asyncio.Task[None]) -> None:
        self._stop.set()
        error = None if owner.cancelled() else owner.exception()
        self.failure = leaf(error) if error is not None else None
        if not self._ready.done():
            if self.failure is None:
                self.failure = ConnectionEndedError(f"{self.name} was closed before it was open", begun=False)
            self._ready.set_exception(self.failure)
        for task in self._work:
            task.cancel()


def leaf(error: BaseException) -> BaseException:
    """The first error within groups of errors, that of an ordinary failure if there is one."""
    while isinstance(error, BaseExceptionGroup):
        error = next(
            (one for one in error.exceptions if not isinstance(one, asyncio.CancelledError)), error.exceptions[0]
        )
    return error


async def in_loop(loop: asyncio.AbstractEventLoop, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Call `close` in `loop`, in whatever thread it runs; one that does not run has ended its tasks itself."""
    if loop is asyncio.get_running_loop():
        await close()
    elif loop.is_running():
        coroutine = close()
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        except RuntimeError:  # it has been closed meanwhile
            coroutine.close()
            return
        await asyncio.wrap_future(future)


def _retrieve(future: asyncio.Future[Any]) -> None:
    """Look at an exception that nobody may wait for."""
    if not future.cancelled():
        future.exception()
