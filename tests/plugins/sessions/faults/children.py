"""Child: a process that goes on from here, and tells what it does."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import traceback
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from cases import Say


class Child:
    """Runs `body` in a process of its own."""

    def __init__(self, body: Callable[[Say], Awaitable[None]]) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(reading)
            _work(body, writing)
        os.close(writing)
        self._reading = reading

    def paused(self) -> bool:
        """Wait until it has stopped itself, or ended; whether it has stopped."""
        self._ended = os.waitpid(self.pid, os.WUNTRACED)[1]
        return os.WIFSTOPPED(self._ended)

    def go_on(self) -> None:
        """Let it go on where it has stopped itself."""
        os.kill(self.pid, signal.SIGCONT)

    def end(self) -> tuple[list[list[Any]], str]:
        """What it said before it ended, and how it ended where that was not well."""
        with os.fdopen(self._reading, encoding="utf-8") as pipe:
            said = [json.loads(line) for line in pipe]
        if self._ended is None or os.WIFSTOPPED(self._ended):
            self._ended = os.waitpid(self.pid, 0)[1]
        if os.WIFSIGNALED(self._ended):
            return said, signal.Signals(os.WTERMSIG(self._ended)).name
        return said, "".join(one[2] for one in said if one[0] == "wrong")

    _ended: int | None = None


def _work(body: Callable[[Say], Awaitable[None]], pipe: int) -> NoReturn:
    status = 1
    try:
        asyncio.run(body(lambda *said: os.write(pipe, json.dumps(said).encode() + b"\n") and None))  # type: ignore[arg-type]
        status = 0
    except BaseException:
        os.write(pipe, json.dumps(["wrong", "", traceback.format_exc()]).encode() + b"\n")
    finally:
        os._exit(status)
