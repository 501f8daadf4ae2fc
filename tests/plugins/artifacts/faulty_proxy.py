"""FaultyProxy: stands before an HTTP server, and does something else to the requests that it is told to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

#: What may be done to a request: lost on its way; carried out with its answer lost, or cut off; refused.
FAULTS = ("lost", "unanswered", "cut", "refused")
#: Nobody ever answers; it is no use to try again.
HANGS, FORBIDDEN = "hangs", "forbidden"


class FaultyProxy:
    """`fault(n)` says what is done to the n-th request (from 1); None: it goes through."""

    def __init__(self, target: str) -> None:
        self.target = urlsplit(target)
        self.fault: Callable[[int], str | None] = lambda number: None
        self.requests = 0
        self.fired = 0
        self.over = threading.Event()
        self._lock = threading.Lock()

    def arm(self, fault: Callable[[int], str | None]) -> None:
        """Count anew."""
        with self._lock:
            self.fault, self.requests, self.fired = fault, 0, 0

    def next(self) -> str | None:
        """The fault of the request that came in."""
        with self._lock:
            self.requests += 1
            fault = self.fault(self.requests)
            self.fired += fault is not None
            return fault

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    server: ThreadingHTTPServer


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    proxy: FaultyProxy


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *args: Any) -> None:
        """Nothing on stderr."""

    def forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.server.proxy.next()
        if fault == HANGS:
            self.server.proxy.over.wait()
        if fault in ("lost", HANGS):
            self.close_connection = True
            return
        if fault == "refused":
            return self.answer(503, [], b"")
        if fault == FORBIDDEN:
            return self.answer(403, [], b"")
        connection = HTTPConnection(self.server.proxy.target.netloc, timeout=30)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() != "expect"}
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        if fault == "unanswered":
            self.close_connection = True
            return
        self.answer(answer.status, answer.getheaders(), data, cut=fault == "cut")

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = do_PATCH = forward

    def answer(self, status: int, headers: list[tuple[str, str]], data: bytes, *, cut: bool = False) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                self.send_header(name, value)
        size = int({name.lower(): value for name, value in headers}.get("content-length", len(data)))
        self.send_header("Content-Length", str(size + (cut and not data)))  # something never comes
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if cut else data)
        self.close_connection = self.close_connection or cut


@contextmanager
def faulty_proxy(target: str) -> Iterator[FaultyProxy]:
    """A proxy before `target`, for as long as the block runs."""
    proxy = FaultyProxy(target)
    proxy.server = server = _Server(("127.0.0.1", 0), _Handler)
    server.proxy = proxy
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
