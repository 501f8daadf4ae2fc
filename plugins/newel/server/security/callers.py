"""Callers: a request must name the server by a known host, come from a known page, and carry the token."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from newel.server.security.answers import answer, refuse
from newel.server.security.cookies import TRADE, Cookie
from newel.server.security.entrance import entrance
from newel.server.security.hosts import Hosts, Origins, Remembered

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from newel.server.options import Options

_OPEN = "/health"
_NAMES = frozenset({b"host", b"origin", b"authorization", b"cookie", b"sec-fetch-site", b"sec-fetch-mode"})
_METHODS = b"GET, POST, PUT, PATCH, DELETE"
_HEADERS = b"authorization, content-type, last-event-id, traceparent, tracestate"


class Callers:
    """Lets a request in, or says what is wrong with its host, its origin or its token."""

    def __init__(self, app: ASGIApp, options: Options) -> None:
        self._app = app
        guards = options.guards
        # Who mounts the app in one of their own answers for the hosts of that one.
        checks = bool(options.host or guards.hosts)
        self._host_allowed = Remembered(Hosts((options.host, *guards.hosts)).allows) if checks else None
        origins = Origins(guards.origins)
        self._is_own = Remembered(origins.is_own)
        self._listed = Remembered(origins.lists)
        self._cookie = Cookie(guards.token) if guards.token is not None else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        seen = {name: value for name, value in scope["headers"] if name in _NAMES}
        host, origin = seen.get(b"host", b""), seen.get(b"origin")
        if self._host_allowed is not None and not self._host_allowed(host):
            text = f"this server is not called {_shown(host)}: start it with --allow-host {_name(host)}"
            await refuse(scope, send, 400, text)
            return
        if origin is None:
            if seen.get(b"sec-fetch-site") == b"cross-site" and seen.get(b"sec-fetch-mode") != b"navigate":
                await refuse(scope, send, 403, "a page elsewhere may not call this server")
                return
        elif not self._is_own(origin, host):
            if not self._listed(origin):
                await refuse(scope, send, 403, _foreign(origin))
                return
            send = _shared(send, origin)
            if scope.get("method") == "OPTIONS":
                await answer(scope, send, 204, b"", headers=_PREFLIGHT)
                return
        if self._cookie is None or await self._is_let_in(self._cookie, seen, scope, send):
            await self._app(scope, receive, send)

    async def _is_let_in(self, cookie: Cookie, seen: dict[bytes, bytes], scope: Scope, send: Send) -> bool:
        """Whether the request carries the token, or needs none; else it is answered."""
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if cookie.is_carried(seen.get(b"authorization", b""), seen.get(b"cookie", b"")):
            if path != TRADE or scope.get("method") != "POST":
                return True
            await answer(scope, send, 204, b"", headers=[(b"set-cookie", cookie.header(scope))])
            return False
        if path == _OPEN:
            return True
        if scope.get("method") == "GET" and _wants_page(scope["headers"]):
            await entrance(scope, send)
        else:
            text = "send the token that the server printed, as `Authorization: Bearer TOKEN`"
            await refuse(scope, send, 401, text, [(b"www-authenticate", b"Bearer")])
        return False


def _foreign(origin: bytes) -> str:
    shown = _shown(origin)
    return f"a page of {shown} may not call this server: start it with --allow-origins {shown}"


def _wants_page(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    return any(name == b"accept" and b"text/html" in value for name, value in headers)


def _shared(send: Send, origin: bytes) -> Send:
    """`send` with the headers that let a listed page read the answer."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = (b"access-control-allow-origin", origin), (b"vary", b"Origin")
            message["headers"] = [*message.get("headers", ()), *own]
        await send(message)

    return sending


_PREFLIGHT = (
    (b"access-control-allow-methods", _METHODS),
    (b"access-control-allow-headers", _HEADERS),
    (b"access-control-max-age", b"600"),
)


def _shown(value: bytes) -> str:
    """A header's value as an error may show it."""
    text = value.decode("ascii", "replace")
    return "".join(one if one.isprintable() else "?" for one in text)[:200] or "(no name)"


def _name(host: bytes) -> str:
    """The name in a Host header, without the port."""
    text = _shown(host)
    return text.rpartition("]")[0].lstrip("[") or text.partition(":")[0]
