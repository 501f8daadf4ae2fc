"""The HTTP side of `GeminiServer`: whole answers, event streams, and connections that break."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from newel_kernel import Json


@dataclass(frozen=True, slots=True)
class Step:
    """What one request gets: an error, a raw body, or chunks and how they end."""

    chunks: tuple[Json, ...] = ()
    #: Seconds before each chunk but the first.
    pause: float = 0.0
    #: After the chunks: the answer's end, a dropped connection, or silence until the client leaves.
    then: Literal["end", "drop", "hold"] = "end"
    status: int = 200
    raw: bytes | None = None


#: Method, path, headers (lower-case names) and body of a request -> what to answer, and whether to stream it.
Answer = Callable[[str, str, Mapping[str, str], bytes], tuple[Step, bool]]


class Listener:
    """A thread that serves 127.0.0.1 on a free port."""

    def __init__(self, answer: Answer, abandoned: threading.Event) -> None:
        self._server = _Server(answer, abandoned)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), name="gemini-server")
        self._thread.start()

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stop, close the connections, and wait for their threads."""
        self._server.shutdown()
        self._server.hang_up()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # server_close() waits for them, so no thread outlives the test

    def __init__(self, answer: Answer, abandoned: threading.Event) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.abandoned = abandoned
        self.closing = False
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    def process_request(self, request: Any, client_address: object) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End the connections that clients keep open."""
        with self._lock:
            self.closing = True
            for connection in self._open:
                _cut(connection)

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing on stderr for a client that left; it may do so at any moment."""
        self.abandoned.set()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Each event leaves at once, as from the service.
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        """Answer one request."""
        payload = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        step, streamed = self.server.answer(self.command, self.path, headers, payload)
        try:
            if streamed:
                self._send_stream(step)
            else:
                self._send_whole(step)
        except ConnectionError:
            self._left()

    do_GET = do_DELETE = do_POST

    def log_message(self, format: str, *args: object) -> None:
        """No log: requests carry keys."""

    def _send_whole(self, step: Step) -> None:
        body = step.raw if step.raw is not None else json.dumps(step.chunks[0] if step.chunks else {}).encode()
        self.send_response(step.status)
        self.send_header("Content-Type", "application/json; charset=UTF-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if step.then == "end":
            self.wfile.write(body)
            return
        self.wfile.write(body[: len(body) // 2])
        self._break_off(step)

    def _send_stream(self, step: Step) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        events = [step.raw] if step.raw is not None else [json.dumps(chunk).encode() for chunk in step.chunks]
        for number, event in enumerate(events):
            if number and step.pause and self._gone_within(step.pause):
                self._left()
                return
            self._write(b"data: " + event + b"\r\n\r\n")
        if step.then == "end":
            self.wfile.write(b"0\r\n\r\n")
        else:
            self._break_off(step)

    def _write(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _break_off(self, step: Step) -> None:
        """Leave the answer unfinished: at once, or when the client leaves."""
        self.close_connection = True
        if step.then == "hold" and self._gone_within(None):
            self._left()
        _cut(self.connection)

    def _gone_within(self, seconds: float | None) -> bool:
        """Whether the client leaves within that time; a client sends nothing while it waits for an answer."""
        readable, _, _ = select.select([self.connection], [], [], seconds)
        return bool(readable)

    def _left(self) -> None:
        self.close_connection = True
        if not self.server.closing:
            self.server.abandoned.set()


def _cut(connection: socket.socket) -> None:
    with suppress(OSError):  # the other side may have been first
        connection.shutdown(socket.SHUT_RDWR)
