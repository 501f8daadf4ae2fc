"""Tracing: the spans of a request's run belong to the trace that its caller has begun (`traceparent`)."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from newel.server.options import Options


def tracing(app: ASGIApp, options: Options) -> ASGIApp:
    """`app` within the caller's trace; without OpenTelemetry `app` itself."""
    return _Joining(app) if find_spec("opentelemetry") is not None else app


class _Joining:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._context = import_module("opentelemetry.context")
        self._extract = import_module("opentelemetry.propagate").extract

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or not any(name == b"traceparent" for name, _ in scope["headers"]):
            await self._app(scope, receive, send)
            return
        carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        token = self._context.attach(self._extract(carrier))
        try:
            await self._app(scope, receive, send)
        finally:
            self._context.detach(token)
