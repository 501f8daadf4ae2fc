"""Health: a few paths of HTTP on a loopback port, which say whether a process works and what it has done."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from newel_kernel import ConfigurationError

#: The status, the type and the text of an answer.
Answer = tuple[int, str, str]
PLAIN = "text/plain; version=0.0.4; charset=utf-8"
_REASONS = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}
#: How long a caller has for its request, and for the answer, in seconds, and how long a line of it may be.
_PATIENCE = 15.0
_LONGEST = 8 * 1024


class Health:
    """Answers GET requests for some paths, one to a connection."""

    def __init__(self, paths: Mapping[str, Callable[[], Awaitable[Answer]]]) -> None:
        self._paths = paths
        self._server: asyncio.Server | None = None

    async def listen(self, port: int) -> int:
        """Listen on 127.0.0.1; the port, which is a free one for 0."""
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", port, limit=_LONGEST)
        except OSError as error:
            raise ConfigurationError(
                f"--port: 127.0.0.1:{port} cannot be listened on ({os.strerror(error.errno or 0)}); give another port, "
                f"or 0 for a free one"
            ) from error
        number: int = self._server.sockets[0].getsockname()[1]
        return number

    async def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, TimeoutError):  # of the caller
            async with asyncio.timeout(_PATIENCE):
                words = (await reader.readline()).decode("latin-1").split()
                while (await reader.readline()).strip():
                    pass
                writer.write(await self._answer(words))
                await writer.drain()
        writer.close()

    async def _answer(self, words: list[str]) -> bytes:
        method, path = (*words, "", "")[:2]
        status, kind, text = 404, PLAIN, "not found\n"
        if method not in ("GET", "HEAD"):
            status, text = 405, "use GET\n"
        elif (answer := self._paths.get(path.partition("?")[0])) is not None:
            status, kind, text = await answer()
        body = text.encode()
        head = f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        return f"{head}Connection: close\r\n\r\n".encode() + (body if method != "HEAD" else b"")
