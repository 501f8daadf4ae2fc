"""Server: one process under uvicorn, whose runs end before it does."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn

from newel.server.operations.load import LOAD
from newel_kernel import seam

if TYPE_CHECKING:
    from newel.server.state import State

#: What is left for runs that are cancelled, for connections and for stores to end; then the process ends anyway.
END_SECONDS = 5.0
_LOOK_SECONDS = 0.05


class Server(uvicorn.Server):
    """Lets the runs end first: for `drain` seconds after the first signal, and not after the second one."""

    def __init__(self, config: uvicorn.Config, state: State, listens: Callable[[], None]) -> None:
        super().__init__(config)
        self._state = state
        #: Called once the server listens.
        self._listens = listens
        self._loop: asyncio.AbstractEventLoop | None = None
        self._signal: int | None = None
        self._hurries = False
        self._ending: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the stores, and listen; not if the server was told to end before there was a loop that could do it."""
        self._loop = asyncio.get_running_loop()
        if LOAD.draining:
            self.should_exit = True
            return
        await super().startup(sockets)
        self._listens()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal: no new runs, and those under way have `drain` seconds. The second one cancels them."""
        self._signal = sig
        if not self.started:
            super().handle_exit(sig, frame)
        elif LOAD.draining:
            self.hurry()
        else:
            self.drain()

    def drain(self) -> None:
        """Begin no run, and end once those under way have ended."""
        LOAD.draining = True
        self._end_within(self._state.options.drain + END_SECONDS)
        self._call(self._begin_to_end)

    def hurry(self) -> None:
        """Cancel the runs, and end."""
        LOAD.draining = self._hurries = True
        self._end_within(END_SECONDS)
        self._call(self._begin_to_end)

    def leave_port(self) -> None:
        """Listen no more: another server wants the port."""
        self._call(self._close_sockets)

    def _close_sockets(self) -> None:
        for server in self.servers:
            server.close()

    def _call(self, function: Callable[[], object]) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(function)

    def _begin_to_end(self) -> None:
        if self._ending is None:
            self._ending = seam.spawn(self._end(), name="end of the server")

    async def _end(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._state.options.drain):
                while not self._hurries and (LOAD.live or LOAD.streams or self._state.runs()):  # noqa: ASYNC110 - any of many may be last
                    await asyncio.sleep(_LOOK_SECONDS)
        await self._state.cancel_runs(END_SECONDS)
        if self._signal is not None:
            super().handle_exit(self._signal, None)
        self.should_exit = True

    def _end_within(self, seconds: float) -> None:
        """End the process even if an agent blocks the loop, or a thread of a tool never returns."""
        status = 128 + (self._signal or signal.SIGTERM)
        timer = threading.Timer(seconds, _end_now, (status,))
        timer.daemon = True
        timer.start()


class Worker(Server):
    """One of several processes. Only the parent says when it has to hurry: a signal may come to both of them."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Let the runs end. Ctrl-C reaches each process of the terminal; the parent says what it means."""
        if sig == signal.SIGINT or LOAD.draining:
            return
        if self.started:
            self.drain()
        else:
            self.should_exit = True


def _end_now(status: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the reader has closed it
            stream.flush()
    os._exit(status)
