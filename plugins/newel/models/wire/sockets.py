"""Sockets: the WebSocket that an SDK opens for a live session. It stays at one host, is bounded, and closes in time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from socket import SO_RCVBUF, SOL_SOCKET
from typing import Any, Protocol

from newel.models.live import ConnectionLostError
from newel.models.wire.disconnects import end_of, live_failure, lost, refusal_remedy
from newel.models.wire.limits import Limits
from newel.models.wire.service import Service
from newel_kernel import Json, LlmResponse, ModelError

#: How long the closing handshake may take, in seconds.
CLOSE_TIMEOUT = 1.0
#: How many unread bytes of a service's data the system keeps, its own bookkeeping excluded. All of them are read,
#: decrypted and parsed at once, so a burst takes a few times as much; asyncio would read 256 KiB over TLS.
RECEIVE_BUFFER = 48 << 10
#: How often a silent connection is pinged, and how long it may take to answer, in seconds.
_PING_INTERVAL, _PING_TIMEOUT = 20.0, 20.0
_TOO_LARGE = 1009
#: A list for the sockets that an SDK opens in this task.
_opened: ContextVar[list[WebSocket] | None] = ContextVar("opened_sockets", default=None)


class WebSocket(Protocol):
    """A ``ClientConnection`` of websockets."""

    transport: asyncio.Transport
    #: Data to send waits for more.
    held: bool

    async def recv(self, decode: bool | None = None) -> bytes:
        """The next message."""

    async def send(self, message: str) -> None:
        """Send a message; waits while earlier messages are on their way."""

    async def ping(self, data: bytes) -> asyncio.Future[float]:
        """Send a ping; return a future of its latency in seconds."""

    async def wait_closed(self) -> None:
        """Wait until it is closed."""

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close with a handshake, for which the socket has a timeout."""


def check_websockets(model: str) -> None:
    """Raise a ModelError that names the remedy if websockets is missing."""
    if find_spec("websockets") is None:
        raise ModelError(
            f"a live connection to the model {model!r} needs websockets, which is not installed:\n"
            "pip install 'newel[live]'"
        )


def socket_options(limits: Limits, frame_bytes: int) -> Json:
    """Arguments for ``websockets.connect``, by way of an SDK; a frame has at most `frame_bytes`."""
    return {
        "max_size": frame_bytes,
        "open_timeout": limits.connect,
        "close_timeout": CLOSE_TIMEOUT,
        "compression": None,
        "ping_interval": _PING_INTERVAL,
        "ping_timeout": _PING_TIMEOUT,
        "create_connection": _connection_class(),
    }


@contextmanager
def noting() -> Iterator[list[WebSocket]]:
    """A list of the sockets that this task opens meanwhile."""
    opened: list[WebSocket] = []
    token = _opened.set(opened)
    try:
        yield opened
    finally:
        _opened.reset(token)


class LiveSocket:
    """The frames of one live connection. Its end is a lost connection, a refusal, or our own closing."""

    def __init__(self, socket: WebSocket, service: Service, number: int, frame_bytes: int) -> None:
        self._socket = socket
        self._transport = socket.transport
        self._service = service
        self._number = number
        self._frame_bytes = frame_bytes
        self._closed: type[Any] = import_module("websockets.exceptions").ConnectionClosed
        #: Its end was expected: we close it, or the service closed it and has said why.
        self.over = False

    async def recv(self) -> bytes | LlmResponse | None:
        """The next frame; once, the reason why the service closed the connection; None if nothing more comes.

        What the service sent before our closing reached it still comes. Raises ConnectionLostError if the connection
        was lost.
        """
        try:
            return await self._socket.recv(decode=False)
        except self._closed as error:
            if self.over:  # closed by us meanwhile
                return None
            refusal = self._refusal(error)
            if refusal is None:
                raise self._lost(error) from None
            self.over = True
            return refusal

    async def send(self, frame: str) -> None:
        """Send a frame; raises ConnectionLostError if the connection no longer exists."""
        if self._transport.is_closing():  # the library notices it later, and would drop the frame silently
            await self._socket.wait_closed()
        try:
            await self._socket.send(frame)
        except self._closed as error:
            raise self._lost(error) from None

    async def send_pinged(self, frames: Sequence[str], data: bytes) -> asyncio.Future[float]:
        """Send frames and a ping together; return a future of its latency in seconds. See `send`."""
        try:
            self._socket.held = True
            for frame in frames:
                await self.send(frame)
        finally:
            self._socket.held = False
        try:
            return await self._socket.ping(data)
        except self._closed as error:
            raise self._lost(error) from None

    async def close(self) -> None:
        """Close it, within `CLOSE_TIMEOUT` even if the service does not answer."""
        async with self.closing():
            await self._socket.close()

    @asynccontextmanager
    async def closing(self) -> AsyncIterator[None]:
        """Cut the connection if it is not closed in time: the library's own timeout begins once all is written."""
        self.over = True
        cut = asyncio.get_running_loop().call_later(CLOSE_TIMEOUT, self._transport.abort)
        try:
            yield
        finally:
            cut.cancel()

    def failure(self, code: str, what: str, remedy: str) -> LlmResponse:
        """A failure of the connection as a response. `what` completes a sentence that begins with the provider."""
        return live_failure(self._service, self._number, code, what, remedy)

    def _refusal(self, error: Any) -> LlmResponse | None:
        """The response that says why the connection ended; None if it was lost."""
        if error.sent is not None and error.sent.code == _TOO_LARGE and not error.rcvd_then_sent:
            what = f"sent a message of more than {self._frame_bytes:,} bytes"
            return self.failure("RESPONSE_TOO_LARGE", what, "raise the setting frame_bytes of the provider's plugin")
        code, reason = end_of(error)
        remedy = refusal_remedy(code)
        if remedy is None:
            return None
        return self.failure(str(code), f"closed the connection with {code}: {reason or 'no reason given'}", remedy)

    def _lost(self, error: Any) -> ConnectionLostError:
        code, reason = end_of(error)
        return lost(self._service, self._number, code, reason)


@lru_cache(maxsize=1)
def _connection_class() -> type:
    """A ClientConnection that notes itself, and follows no redirect: one would carry the key to another host."""
    websockets: Any = import_module("websockets.asyncio.client")
    exceptions: Any = import_module("websockets.exceptions")

    class Connection(websockets.ClientConnection):  # type: ignore[misc]
        held = False

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            opened = _opened.get()
            if opened is not None:
                opened.append(self)

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            transport.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_RCVBUF, RECEIVE_BUFFER)

        def send_data(self) -> None:
            if self.held and not self.protocol.close_expected():
                return
            writes = self.protocol.writes
            if len(writes) > 1 and all(writes):  # one write, so that they are read as one as well
                writes[:] = [b"".join(writes)]
            super().send_data()

        async def handshake(self, *arguments: Any, **options: Any) -> None:
            try:
                await super().handshake(*arguments, **options)
            except exceptions.InvalidStatus as error:
                if 300 <= error.response.status_code < 400:
                    status = error.response.status_code
                    raise exceptions.InvalidHandshake(f"a redirect ({status}), which is not followed") from None
                raise

    return Connection
