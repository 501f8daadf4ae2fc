"""A local web server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Answer = Callable[[BaseHTTPRequestHandler], None]


class Site:
    """A server on a port of its own; `pages` maps a path to what answers it."""

    def __init__(self) -> None:
        self.pages: dict[str, Answer] = {}
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self.done = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.seen.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}))
                site.pages.get(self.path, lambda request: request.send_error(404))(self)

            do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/", host: str | None = None) -> str:
        return f"http://{host or self.address}{path}"

    def page(self, path: str, body: bytes, kind: str = "text/html", status: int = 200, **headers: str) -> None:
        def answer(request: BaseHTTPRequestHandler) -> None:
            request.send_response(status)
            request.send_header("Content-Type", kind)
            request.send_header("Content-Length", str(len(body)))
            for name, value in headers.items():
                request.send_header(name.replace("_", "-"), value)
            request.end_headers()
            request.wfile.write(body)

        self.pages[path] = answer

    def drips(self, path: str, part: str) -> None:
        """Answer `path` with a body, or headers, that come byte by byte and never end."""

        def drip(request: BaseHTTPRequestHandler) -> None:
            request.wfile.write(b"HTTP/1.0 200 OK\r\n" + (b"\r\n" if part == "body" else b""))
            while not self.done.wait(0.05):
                try:
                    request.wfile.write(b"a" if part == "body" else b"X: y\r\n")
                    request.wfile.flush()
                except OSError:
                    return

        self.pages[path] = drip

    def close(self) -> None:
        self.done.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def site() -> Iterator[Site]:
    served = Site()
    yield served
    served.close()
