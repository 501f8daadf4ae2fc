"""Supervisor: the parent of the processes that serve. It starts them, starts a lost one again, and ends when they have.

Each worker has a pipe to it: the parent says by words when to end, the worker says when it listens. The end of the pipe
is the end of the parent, however it came: a worker without one leaves the port, lets its runs end, and ends.
"""

from __future__ import annotations

import logging
import multiprocessing
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import wait
from types import FrameType
from typing import TYPE_CHECKING, Any

from newel.server.operations.server import END_SECONDS
from newel_kernel import seam

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

#: What the parent says, and what a worker says; its other words say why it cannot start.
DRAIN, HURRY, LISTENS = b"drain", b"hurry", b"listens"
#: A worker that has not lived so long is started again only then.
_PAUSE = 1.0
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_log = logging.getLogger("newel.server")
_spawn = multiprocessing.get_context("spawn")


class Child:
    """A worker, as its parent knows it."""

    def __init__(self, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self.pipe, theirs = _spawn.Pipe()
        self.process: SpawnProcess = _spawn.Process(target=work, args=(*arguments, theirs))
        self.began = seam.monotonic()
        self.process.start()
        theirs.close()  # the worker alone has it now: its end shows

    def tell(self, word: bytes) -> None:
        """Say something to the worker, if it is still there."""
        with suppress(OSError):
            self.pipe.send_bytes(word)

    def hear(self) -> bytes:
        """What it says; nothing if it has closed the pipe."""
        try:
            return self.pipe.recv_bytes()
        except (EOFError, OSError):
            self.pipe.close()
            return b""


class Supervisor:
    """Keeps `count` workers running until a signal comes. `work` is called in each with `arguments` and its pipe."""

    def __init__(
        self,
        count: int,
        work: Callable[..., None],
        arguments: tuple[Any, ...],
        *,
        drain: float,
        listens: Callable[[], None],
    ) -> None:
        self._count = count
        self._work = work
        self._arguments = arguments
        self._drain = drain
        #: Called once a worker listens.
        self._listens = listens
        self._has_listened = False
        #: Why the first worker could not start, as far as it has said so.
        self.failure = ""
        self._children: list[Child] = []
        self._signals: list[int] = []
        #: When those that are left are killed; None: they may go on.
        self._deadline: float | None = None

    def run(self) -> int:
        """Serve. The signal that has ended it, or 0 if no worker could start."""
        alarm, ours = socket.socketpair()
        with alarm, ours:
            ours.setblocking(False)
            before = signal.set_wakeup_fd(ours.fileno(), warn_on_full_buffer=False)
            handlers = {sig: signal.signal(sig, self._note) for sig in _SIGNALS}
            try:
                for _ in range(self._count):
                    self._add()
                while self._children:
                    self._step(alarm)
            finally:
                for child in self._children:
                    child.process.kill()
                signal.set_wakeup_fd(before)
                for sig, handler in handlers.items():
                    signal.signal(sig, handler)
        return self._signals[0] if self._signals else 0

    def _add(self) -> None:
        self._children.append(child := Child(self._work, self._arguments))
        if self._signals:  # one has come meanwhile
            child.tell(DRAIN)

    def _note(self, sig: int, _: FrameType | None) -> None:
        """A signal, in its handler."""
        self._signals.append(sig)
        ends = seam.monotonic() + END_SECONDS
        if len(self._signals) == 1:
            self._end(DRAIN, ends + self._drain + 1)
        else:
            self._end(HURRY, ends + 1)

    def _end(self, word: bytes, deadline: float) -> None:
        """Have the workers end, at the latest by the deadline."""
        self._deadline = min(deadline, self._deadline or deadline)
        for child in self._children:
            child.tell(word)

    def _step(self, alarm: socket.socket) -> None:
        """Wait until something happens, and see to it."""
        pipes = {one.pipe: one for one in self._children if not one.pipe.closed}
        sentinels = {one.process.sentinel: one for one in self._children}
        left = None if self._deadline is None else max(0.0, self._deadline - seam.monotonic())
        ready = wait([*pipes, *sentinels, alarm], left)
        if not ready and left is not None:
            for child in self._children:
                child.process.kill()
            self._deadline = None
        for one in ready:
            if one in pipes:
                self._hear(pipes[one].hear())
            elif one in sentinels:
                self._lost(sentinels[one])
            else:
                alarm.recv(4096)

    def _hear(self, word: bytes) -> None:
        if word != LISTENS:
            self.failure = self.failure or word.decode()
        elif not self._has_listened:
            self._has_listened = True
            self._listens()

    def _lost(self, child: Child) -> None:
        """A worker has ended: another one takes its place, unless all are to end."""
        child.process.join()
        self._children.remove(child)
        child.pipe.close()
        if self._signals or self._deadline is not None:
            return
        if not self._has_listened:  # none could start, nor will another one
            self._end(HURRY, seam.monotonic() + END_SECONDS + 1)
            return
        _log.warning(
            "worker %s has ended with status %s: another one starts", child.process.pid, child.process.exitcode
        )
        wait([], max(0.0, child.began + _PAUSE - seam.monotonic()))
        if not self._signals:
            self._add()
