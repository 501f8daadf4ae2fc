"""LiveServer: a service of live sessions on 127.0.0.1, in a thread of its own. Each connection follows a script."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import ClassVar, Self

import trustme
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from newel_kernel import Json
from newel_testkit.live.connection import Connection, ScriptStep
from newel_testkit.live.steps import Close, Drop, ScriptError

#: How long starting and stopping may take, in seconds.
_PATIENCE = 60.0
#: What a client may send in one frame.
_MOST = 32 << 20


class RefusedError(Exception):
    """The service does not accept a message: it closes with `code` or, if that is 0, answers with `answer`."""

    def __init__(self, reason: str, code: int = 1007, answer: Json | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.answer = answer


class LiveServer(ABC):
    """A context manager. `connection` gives the next connection its script; one without a script gets answers.

    `connections` holds what each client sent; `problems` what departed from a script. The server may still
    be reading when a client has gone: call `settle` before looking at either.
    """

    #: Messages go out in binary frames.
    binary: ClassVar[bool] = False
    #: How many messages of a connection are kept; later ones are only counted.
    keep: int = 2_000

    def __init__(self, port: int = 0, *, api_key: str | None = None, tls: bool = False) -> None:
        self.port = port
        self.tls = tls
        #: The only key that is accepted; None: any.
        self.api_key = api_key
        self.connections: list[Connection] = []
        self.problems: list[str] = []
        self._scripts: deque[deque[ScriptStep]] = deque()
        self._handshakes: deque[tuple[int, dict[str, str], str]] = deque()
        self._folder: TemporaryDirectory[str] | None = None
        self._ready = threading.Event()
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def connection(self, *steps: ScriptStep) -> Self:
        """Give the next connection that has none yet a script."""
        self._scripts.append(deque(steps))
        return self

    def answer_handshake(self, status: int, headers: Mapping[str, str] | None = None, body: str = "") -> Self:
        """Answer the next handshake with an HTTP status instead of a connection."""
        self._handshakes.append((status, dict(headers or {}), body))
        return self

    def settle(self, seconds: float = _PATIENCE) -> None:
        """Wait until everything is read that was sent over connections that the clients have left.

        Raises TimeoutError if a client has not left; connections on which the server has stalled do not count.
        """
        for connection in self.connections:
            if not connection.stalled and not connection.over.wait(seconds):
                raise TimeoutError(f"the client of connection {connection.number} has not left it in {seconds:g} s")

    def forget_scripts(self) -> None:
        """Forget the scripts that no connection has taken."""
        self._scripts.clear()

    @property
    def ca_file(self) -> str:
        """The certificate of the authority that the server's own is from; clients find it by SSL_CERT_FILE."""
        assert self._folder is not None, "the server is not running"
        return str(Path(self._folder.name) / "ca.pem")

    def client_context(self) -> ssl.SSLContext:
        """A context for clients that trust this server."""
        return ssl.create_default_context(cafile=self.ca_file)

    @abstractmethod
    def kind(self, message: Json) -> str:
        """What a message of a client is, for `Wait` and `Connection.of`."""

    @abstractmethod
    def check(self, connection: Connection, message: Json) -> None:
        """Raise a RefusedError for what the service does not accept."""

    @abstractmethod
    def authorised(self, connection: Connection) -> bool:
        """Whether the client has shown a key."""

    def normal(self, message: Json) -> Json:
        """A client's message in one spelling."""
        return message

    def prepare(self, connection: Connection, message: Json) -> Json:
        """A message of a script as it goes out."""
        return message

    async def opened(self, connection: Connection) -> None:  # noqa: B027
        """The socket is open."""

    async def react(self, connection: Connection, kind: str, message: Json) -> None:  # noqa: B027
        """Do what the service does by itself on a message."""

    async def ready(self, connection: Connection) -> None:  # noqa: B027
        """Return when a script may begin."""

    @abstractmethod
    async def freely(self, connection: Connection) -> None:
        """Answer a connection without a script, turn by turn."""

    def __enter__(self) -> Self:
        self._folder = TemporaryDirectory()
        name = type(self).__name__
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True, name=name)
        self._thread.start()
        if not self._ready.wait(_PATIENCE):
            raise TimeoutError(f"{name} did not start within {_PATIENCE:.0f} s")
        if self._error is not None:
            raise self._error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(RuntimeError):  # it has ended by itself
            self._loop.call_soon_threadsafe(self._stop.set)
        assert self._thread is not None
        assert self._folder is not None
        self._thread.join(_PATIENCE)
        self._folder.cleanup()

    def _context(self) -> ssl.SSLContext:
        authority = trustme.CA()
        authority.cert_pem.write_to_path(self.ca_file)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1", "localhost").configure_cert(context)
        return context

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with serve(
                self._handle,
                "127.0.0.1",
                self.port,
                ssl=self._context() if self.tls else None,
                max_size=_MOST,
                ping_interval=None,
                compression=None,
                close_timeout=1,
                process_request=self._admit,
            ) as server:
                self.port = next(iter(server.sockets)).getsockname()[1]
                self._ready.set()
                await self._stop.wait()
                for connection in self.connections:
                    if connection.stalled:
                        connection.socket.transport.abort()
        except Exception as error:  # noqa: BLE001 - the caller that starts the server gets it
            self._error = error
            self._ready.set()

    def _admit(self, socket: ServerConnection, request: Request) -> Response | None:
        if not self._handshakes:
            return None
        status, headers, body = self._handshakes.popleft()
        response = socket.respond(HTTPStatus(status), body)
        for name, value in headers.items():
            response.headers[name] = value
        return response

    async def _handle(self, socket: ServerConnection) -> None:
        script = self._scripts.popleft() if self._scripts else None
        request = socket.request
        assert request is not None
        connection = Connection(
            len(self.connections),
            request.path,
            {name.lower(): value for name, value in request.headers.raw_items()},
            socket,
            self.prepare,
            script if script is not None else deque(),
            self.binary,
        )
        self.connections.append(connection)
        try:
            await self._serve_one(connection, scripted=script is not None)
        finally:
            connection.over.set()

    async def _serve_one(self, connection: Connection, *, scripted: bool) -> None:
        socket = connection.socket
        if not self.authorised(connection):
            connection.ended = (1008, "unauthorised")
            await socket.close(1008, "API key not valid. Please pass a valid API key.")
            return
        player: asyncio.Task[None] | None = None
        try:
            with suppress(ConnectionClosed):
                await self.opened(connection)
                player = asyncio.create_task(self._play(connection) if scripted else self.freely(connection))
                await self._read(connection)
        finally:
            if player is not None:
                player.cancel()
                with suppress(asyncio.CancelledError, ConnectionClosed):
                    await player
            code = socket.close_code
            connection.ended = connection.ended or (1006 if code is None else code, socket.close_reason or "")
            if left := [type(step).__name__ for step in connection.script]:
                self.problems.append(f"connection {connection.number}: {len(left)} steps were not reached: {left[:4]}")

    async def _read(self, connection: Connection) -> None:
        async for frame in connection.socket:
            if connection.stalled:
                await asyncio.Event().wait()
            try:
                await self._take(connection, frame)
            except RefusedError as refusal:
                connection.refused.append(str(refusal))
                if refusal.answer is None:
                    await connection.socket.close(refusal.code, str(refusal)[:120])
                    return
                with suppress(ConnectionClosed):
                    await connection.send(refusal.answer)
                connection.changed.set()

    async def _take(self, connection: Connection, frame: str | bytes) -> None:
        try:
            message = json.loads(frame)
        except ValueError:
            raise RefusedError("Request is not valid JSON.") from None
        if not isinstance(message, dict):
            raise RefusedError("Request is not a JSON object.")
        message = self.normal(message)
        kind = self.kind(message)
        self.check(connection, message)
        if len(connection.received) < self.keep:
            connection.received.append((kind, message))
        connection.counts[kind] += 1
        connection.changed.set()
        with suppress(ConnectionClosed):  # what the client sent before it left is read all the same
            await self.react(connection, kind, message)

    async def _play(self, connection: Connection) -> None:
        await self.ready(connection)
        script = connection.script
        while script:
            step = script[0]
            if isinstance(step, dict):
                await connection.send(step)
            else:
                if isinstance(step, (Drop, Close)):
                    script.popleft()
                    await step.play(connection)
                    return
                try:
                    await step.play(connection)
                except ScriptError as error:
                    self.problems.append(f"connection {connection.number}: {error}")
                    return
            script.popleft()
