"""A server of S3's protocol (moto) in a process of its own: it prints its port, and ends with its standard input."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.server import create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

_app: Any = create_backend_app("s3")
_turn = threading.Lock()


def one_at_a_time(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """S3 looks whether there is an object of a key and writes it in one step; moto takes two."""
    with _turn:
        return list(_app(environ, start_response))


class Silent(WSGIRequestHandler):
    def log(self, *args: Any) -> None:
        """Nothing on stderr."""


def main() -> None:
    server = make_server("127.0.0.1", 0, one_at_a_time, threaded=True, request_handler=Silent)
    print(server.port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
