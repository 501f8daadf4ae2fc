"""Process: a server's process and its group, started with little and ended for certain."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import TextIO

from mcp.client.stdio import get_default_environment

from newel.mcp.parameters import StdioConnectionParams

#: Seconds that a server gets to end after the end of its input, and after SIGTERM; then its group is killed.
_ON_ITS_OWN, _AFTER_TERM, _AFTER_KILL = 1.0, 1.0, 0.8
_STEP = 0.01
#: How much of what a server writes to its error output is kept.
_MOST_LINES, _MOST_LINE = 20, 500
_CHUNK = 65_536


class ErrorOutput:
    """The last lines of a server's error output, and its exit status."""

    def __init__(self, tee: TextIO | None = None) -> None:
        self.status: int | None = None
        self._lines: deque[str] = deque(maxlen=_MOST_LINES)
        self._open = ""
        self._tee = tee

    def feed(self, data: bytes) -> None:
        """Take more of the output; all but the last lines is forgotten."""
        text = data.decode("utf-8", "replace")
        if self._tee is not None:
            with suppress(OSError, ValueError):
                self._tee.write(text)
        *lines, self._open = (self._open + text).split("\n")
        self._lines.extend(line[:_MOST_LINE] for line in lines[-_MOST_LINES:])
        self._open = self._open[:_MOST_LINE]

    def last(self, lines: int = 5) -> str:
        """The last lines."""
        return "\n".join([*self._lines, self._open.strip()][-lines - 1 :]).strip()


@asynccontextmanager
async def started(params: StdioConnectionParams, output: ErrorOutput, most_bytes: int) -> AsyncGenerator[Process, None]:
    """The process, in a group of its own; the group is ended on the way out, whatever happens."""
    server = params.server_params
    own = tempfile.mkdtemp(prefix="newel-mcp-") if server.cwd is None else None
    try:
        process = await asyncio.create_subprocess_exec(
            *params.sandbox,
            server.command,
            *server.args,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=get_default_environment() | (server.env or {}),
            cwd=own or server.cwd,
            limit=most_bytes,
            start_new_session=True,
        )
        reader = asyncio.get_running_loop().create_task(_read(process, output), name="error output of a server")
        try:
            yield process
        finally:
            try:
                await _end(process)
            finally:
                _kill(process)
                with suppress(asyncio.CancelledError):  # the one that ended the wait goes on after this
                    await _gone(process, _AFTER_KILL)
                output.status = process.returncode
                reader.cancel()
                _close(process)
                with suppress(asyncio.CancelledError):
                    await reader
    finally:
        if own is not None:
            shutil.rmtree(own, ignore_errors=True)


async def _read(process: Process, output: ErrorOutput) -> None:
    assert process.stderr is not None
    while data := await process.stderr.read(_CHUNK):
        output.feed(data)


async def _end(process: Process) -> None:
    """End the input; then SIGTERM to the group, then SIGKILL."""
    assert process.stdin is not None
    process.stdin.close()
    await _gone(process, _ON_ITS_OWN)
    if not _signal(process, signal.SIGTERM):
        return
    await _gone(process, _AFTER_TERM)
    if _signal(process, signal.SIGKILL):
        await _gone(process, _AFTER_KILL)


async def _gone(process: Process, seconds: float) -> None:
    """Wait until the process is gone. Its pipes say nothing: a child may have them."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while process.returncode is None and loop.time() < end:  # noqa: ASYNC110 - its `wait` waits for the pipes, too
        await asyncio.sleep(_STEP)


def _signal(process: Process, number: int) -> bool:
    """Signal the group; False if nobody is left in it."""
    if sys.platform == "win32":
        if process.returncode is None:
            process.terminate()
        return process.returncode is None
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # a member of another user
        return True
    return True


def _kill(process: Process) -> None:
    """The last resort, also when the wait was cancelled."""
    if sys.platform != "win32":
        _signal(process, signal.SIGKILL)
    elif process.returncode is None:
        process.kill()


def _close(process: Process) -> None:
    """Close the pipes, which a child that has left the group may still hold."""
    transport = getattr(process, "_transport", None)
    if transport is not None:
        with suppress(PermissionError, ProcessLookupError):
            transport.close()
