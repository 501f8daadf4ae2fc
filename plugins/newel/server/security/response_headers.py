"""Response headers: what a browser may do with an answer, and that nobody keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from newel.server.options import Options

_POLICY = {
    "default-src": "'self'",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "media-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "worker-src": "'self' blob:",
    "object-src": "'none'",
    "base-uri": "'self'",
    "frame-ancestors": "'none'",
}


def policy(**directives: str) -> str:
    """The content security policy, with other directives (`script_src=...`) for a page that needs more."""
    changed = {name.replace("_", "-"): sources for name, sources in directives.items()}
    return "; ".join(f"{name} {sources}" for name, sources in {**_POLICY, **changed}.items())


_HEADERS = (
    (b"content-security-policy", policy().encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)


class ResponseHeaders:
    """Adds the headers that an answer does not have itself."""

    def __init__(self, app: ASGIApp, options: Options) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = message.get("headers", ())
                names = {name for name, _ in own}
                message["headers"] = [*own, *(one for one in _HEADERS if one[0] not in names)]
            await send(message)

        await self._app(scope, receive, sending)
