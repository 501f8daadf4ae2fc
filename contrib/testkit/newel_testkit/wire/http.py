"""HTTP/1.1 on 127.0.0.1, on plain asyncio in a thread of its own.

Several faults need the socket itself (a reset, an event that is cut, a stall), and a server must not share an HTTP
library with the SDK that it judges.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Literal, Self

#: What follows the bytes of a reply: nothing, half of the next event and the end, a reset, the end, or silence.
Then = Literal["end", "cut", "reset", "close", "stall"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer; `events`, one for each server-sent event, take precedence over `body`."""

    status: int = 200
    body: bytes = b""
    events: list[bytes] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str | None = None
    #: Seconds after each event.
    pause: float = 0.0
    then: Then = "end"
    #: How many events go out before `then`; None: all.
    after: int | None = None


@dataclass(slots=True)
class Logged:
    """A request as it came."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    #: The JSON of the body, or its text if it is not JSON.
    body: Any
    #: The number of the connection that it came on.
    connection: int
    at: float
    #: Why the strict server refused it; None: it did not.
    refused: str | None = None


class HttpServer:
    """Serves while it is entered. `log` has every request in order."""

    def __init__(self, handle: Callable[[Logged], Reply], port: int = 0) -> None:
        self._handle = handle
        self.log: list[Logged] = []
        #: How many connections were opened, and how many clients left before their answer was whole.
        self.connections = 0
        self.abandoned = 0
        self.left = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="wire-server", daemon=True)
        self._open: set[StreamWriter] = set()
        self.port = port
        self._failure: OSError | None = None

    def start(self) -> Self:
        """Listen; raises OSError if that fails. A server that already listens does not change."""
        if self._thread.ident is None:
            self._thread.start()
            self._ready.wait(10)
        if self._failure is not None:
            raise self._failure
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        if self._failure is None:
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(10)

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def open_connections(self) -> int:
        """How many connections are open now."""
        return len(self._open)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._stopping = asyncio.Event()
        try:
            server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, limit=1 << 26)
        except OSError as error:  # the port is taken
            self._failure = error
            self._ready.set()
            return
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopping.wait()
        server.close()
        for writer in tuple(self._open):
            writer.transport.abort()

    async def _connected(self, reader: StreamReader, writer: StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        number = self.connections
        try:
            while (request := await self._read(reader, number)) is not None:
                self.log.append(request)
                if not await self._write(reader, writer, self._handle(request)):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            self._abandon()
        except asyncio.CancelledError:
            pass  # the server stops, and nothing waits for a connection's task
        finally:
            self._open.discard(writer)
            writer.close()

    def _abandon(self) -> None:
        self.abandoned += 1
        self.left.set()

    async def _read(self, reader: StreamReader, number: int) -> Logged | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        payload = await _payload(reader, headers)
        path, _, query = target.partition("?")
        body: Any = None
        if payload:
            try:
                body = json.loads(payload)
            except ValueError:
                body = payload.decode("utf-8", "replace")
        return Logged(method, path, query, headers, body, number, monotonic())

    async def _write(self, reader: StreamReader, writer: StreamWriter, reply: Reply) -> bool:
        """Whether the connection may serve another request."""
        if reply.events is None:
            if reply.then != "end":
                half = reply.body[: len(reply.body) // 2]
                if half:
                    writer.write(_head(reply, f"content-length: {len(reply.body)}") + half)
                    await writer.drain()
                return await self._break(reader, writer, reply.then)
            writer.write(_head(reply, f"content-length: {len(reply.body)}") + reply.body)
            await writer.drain()
            return True
        writer.write(_head(reply, "transfer-encoding: chunked"))
        last = len(reply.events) if reply.after is None else reply.after
        for event in reply.events[:last]:
            writer.write(_chunk(event))
            await writer.drain()
            if writer.transport.is_closing() or await _leaves(reader, reply.pause):
                self._abandon()
                return False
        if reply.then == "cut":
            rest = reply.events[last] if last < len(reply.events) else b'data: {"cut'
            writer.write(_chunk(rest[: max(1, len(rest) // 2)]))
            await writer.drain()
            return False
        if reply.then != "end":
            return await self._break(reader, writer, reply.then)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _break(self, reader: StreamReader, writer: StreamWriter, then: Then) -> bool:
        if then == "reset":
            with suppress(OSError):
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        elif then == "stall":
            await reader.read(1)  # returns when the client leaves
            if not self._stopping.is_set():
                self._abandon()
        return False


async def _leaves(reader: StreamReader, seconds: float) -> bool:
    """Whether the client leaves within that time; it sends nothing while it waits for an answer."""
    if not seconds:
        await asyncio.sleep(0)
        return False
    try:
        async with asyncio.timeout(seconds):
            await reader.read(1)
    except TimeoutError:
        return False
    return True


def _head(reply: Reply, length: str) -> bytes:
    kind = reply.content_type or ("text/event-stream" if reply.events is not None else "application/json")
    lines = [f"HTTP/1.1 {reply.status} X", f"content-type: {kind}", length]
    lines += [f"{name}: {value}" for name, value in reply.headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n" % len(data) + data + b"\r\n"


async def _payload(reader: StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length") or 0))
    payload = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        payload += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return payload
