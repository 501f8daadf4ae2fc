"""Traffic: each request is counted and timed, and written to the access log as a line of JSON, without its content."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from newel.server.metrics.process import METRICS
from newel_kernel import seam

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from newel.server.options import Options

#: Where it notes when a request came.
BEGAN = "newel.began"
#: Where the guard of bodies notes whom a request is about.
IDS = "newel.ids"
ACCESS = logging.getLogger("newel.access")
_PATH = re.compile(
    r"/apps/(?P<app>[^/]+)/users/(?P<user>[^/]+)(?:/sessions/(?P<session>[^/]+)(?:/runs/(?P<run>[^/]+))?)?"
)
_RUN = re.compile(rb'^id: ([^\s:]+):|"invocationId":\s*"([^"]{1,100})"')
#: How much of an answer is searched for the run's id.
_BEGINNING = 4096


class Traffic:
    """Times each request, to its first piece and to its end."""

    def __init__(self, app: ASGIApp, options: Options) -> None:
        self._app = app
        self._logs = options.access_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        began = scope[BEGAN] = seam.monotonic()
        status, first, run = 0, 0.0, b""

        async def sending(message: Message) -> None:
            nonlocal status, first, run
            kind = message["type"]
            if kind == "http.response.start":
                status = message["status"]
            elif kind == "http.response.body" and not first:
                first = seam.monotonic() - began
                if self._logs and (match := _RUN.search(message.get("body", b"")[:_BEGINNING])) is not None:
                    run = match[1] or match[2]
            elif kind == "websocket.accept":
                status = 101
            elif kind == "websocket.close" and not status:
                status = 403
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            seconds = seam.monotonic() - began
            METRICS.count(scope.get("method", "WEBSOCKET"), status, seconds, first or seconds)
            if self._logs:
                ACCESS.info("%s", _line(scope, status, seconds, first, run.decode("ascii", "replace")))


def _line(scope: Scope, status: int, seconds: float, first: float, run: str) -> str:
    """Who asked what, and what became of it: no query, no header, no body."""
    path = scope["path"]
    match = _PATH.search(path)
    ids: Mapping[str, Any] = {key: unquote(value) for key, value in match.groupdict().items() if value} if match else {}
    client = scope.get("client")
    line = {
        "time": round(seam.clock(), 3),
        "method": scope.get("method", "WEBSOCKET"),
        "path": path,
        "status": status,
        "ms": round(seconds * 1000, 2),
        "first_ms": round(first * 1000, 2),
        "client": client[0] if client else None,
        **ids,
        **scope.get(IDS, {}),
        **({"run": run} if run else {}),
    }
    return json.dumps(line, ensure_ascii=True)
