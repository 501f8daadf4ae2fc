"""Answers of the guards: a request that does not come to the routes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pydantic_core import to_json

if TYPE_CHECKING:
    from starlette.types import Scope, Send

Headers = Iterable[tuple[bytes, bytes]]


async def refuse(scope: Scope, send: Send, status: int, detail: object, headers: Headers = ()) -> None:
    """Answer a request, or a WebSocket that is not yet accepted, with what is wrong."""
    await answer(scope, send, status, to_json({"detail": detail}), b"application/json", headers)


async def answer(
    scope: Scope, send: Send, status: int, body: bytes, media_type: bytes = b"", headers: Headers = ()
) -> None:
    """Answer with `body`; a WebSocket whose server cannot answer so is closed, which is status 403."""
    kind = "http.response"
    if scope["type"] == "websocket":
        if "websocket.http.response" not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": 1008})
            return
        kind = "websocket.http.response"
    own = [(b"content-length", str(len(body)).encode()), *headers]
    if media_type:
        own.append((b"content-type", media_type))
    await send({"type": f"{kind}.start", "status": status, "headers": own})
    await send({"type": f"{kind}.body", "body": body if scope.get("method") != "HEAD" else b""})
