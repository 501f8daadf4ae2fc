"""The middleware around all routes."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp

from newel.server.operations.prefix import prefixed
from newel.server.operations.tracing import tracing
from newel.server.operations.traffic import Traffic
from newel.server.options import Options
from newel.server.security.bodies import Bodies
from newel.server.security.callers import Callers
from newel.server.security.response_headers import ResponseHeaders

#: Wraps an app, as the options say; may return it unchanged.
Middleware = Callable[[ASGIApp, Options], ASGIApp]
#: The outermost first.
MIDDLEWARE: tuple[Middleware, ...] = (prefixed, Traffic, ResponseHeaders, Callers, Bodies, tracing)


def wrapped(app: ASGIApp, options: Options) -> ASGIApp:
    """`app` within the middleware."""
    for middleware in reversed(MIDDLEWARE):
        app = middleware(app, options)
    return app
