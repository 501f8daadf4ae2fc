"""Work in a forked process that may be killed at a write: for checks of what a crash leaves."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Awaitable, Callable, Coroutine
from types import FrameType
from typing import Any, NamedTuple, TypeVar

from newel.testing.interruptions import watched

T = TypeVar("T")
#: Whether processes can be forked here, which Windows cannot do.
CAN_FORK = hasattr(os, "fork")
#: Seconds after which a forked process is killed.
LONGEST = 60
#: Functions of the interpreter that write: a process is killed after each.
_WRITES = frozenset(
    {
        *("__exit__", "commit", "execute", "executemany", "executescript", "flush", "fdatasync", "fsync", "link"),
        *("mkdir", "pwrite", "rename", "replace", "send", "sendall", "sendmsg", "truncate", "unlink", "write"),
        "writelines",
    }
)


class Crash(BaseException):
    """A forked process ended in an error."""


class Kills:
    """Kills this process at the `at`-th await or write of a call; with None it only makes the call."""

    def __init__(self, at: int | None) -> None:
        self._left = at

    def _passed(self, *_: object) -> None:
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if self._left is not None:
            self._left -= 1

    def _profile(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "c_return" and getattr(called, "__name__", "") in _WRITES:
            self._passed()

    async def during(self, call: Coroutine[Any, Any, T]) -> T:
        """Make the call."""
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        try:
            return await watched(call, self._passed)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


class Child(NamedTuple):
    """A forked process, and the pipe of what it reports."""

    pid: int
    pipe: int

    def result(self) -> tuple[bool, list[str]]:
        """Wait for the end: whether it was not killed, and the lines that it reported. Crash if it failed."""
        with os.fdopen(self.pipe, encoding="utf-8") as reader:
            lines = reader.read().splitlines()
        _, status = os.waitpid(self.pid, 0)
        killed = os.WIFSIGNALED(status)
        if not killed and os.waitstatus_to_exitcode(status) != 0:
            raise Crash("; ".join(lines[-1:]) or "a process of the check failed")
        return not killed, lines


class StartingLine:
    """Where forked processes wait for each other. Make it before they are forked."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()

    def wait(self) -> None:
        """In a forked process: block until every process, and the parent, has come here."""
        os.close(self._writer)
        os.read(self._reader, 1)  # ends when nobody holds the other end any more

    def go(self) -> None:
        """In the parent, once all are forked."""
        os.close(self._writer)
        os.close(self._reader)


def forked(work: Callable[[Callable[[str], None]], Awaitable[None]]) -> Child:
    """Run `work` in a forked process: it gets a function that reports a line."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads: the process does its work and ends
        pid = os.fork()
    if pid:
        os.close(writer)
        return Child(pid, reader)
    status = 1
    try:
        gc.disable()  # nothing that the parent has is to be closed here
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(LONGEST)
        asyncio.run(_run(work, writer))
        status = 0
    except BaseException as error:  # noqa: BLE001 - told to the parent
        _report(writer, f"{type(error).__name__}: {error}")
    finally:
        os._exit(status)


async def _run(work: Callable[[Callable[[str], None]], Awaitable[None]], writer: int) -> None:
    await work(lambda line: _report(writer, line))


def _report(writer: int, line: str) -> None:
    os.write(writer, f"{line}\n".encode())
