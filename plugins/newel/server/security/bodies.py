"""Bodies: what a request brings is JSON, small enough, there in time, and can be stored and read back."""

from __future__ import annotations

import asyncio
import math
import re
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from newel.server.operations.traffic import IDS
from newel.server.refusals import Refusal
from newel.server.security.answers import refuse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from newel.server.options import Options

#: The deepest nesting: stores put what they get a few levels deeper, and readers stop at 200.
MAX_DEPTH = 100
#: The longest integer, in bits: as large as the largest float.
_MAX_BITS = 1024
#: What may be a number beyond the limits; it may also stand in a text.
_SUSPECT = re.compile(rb"[0-9]{300}|[0-9][eE]\+?[0-9]{3}")
#: Bytes per second at which a body at least arrives.
_LEAST_RATE = 10_000
#: A body that is too large is read and dropped up to here, so that its sender gets to read the answer.
_MOST_DROPPED, _DROP_SECONDS = 128_000_000, 5.0
_CLOSE = ((b"connection", b"close"),)
_IDS = {"app": ("appName", "app_name"), "user": ("userId", "user_id"), "session": ("sessionId", "session_id")}
_LONGEST_ID = 200
_UPLOAD = b"multipart/form-data"


class Bodies:
    """Reads each body before the routes see the request."""

    def __init__(self, app: ASGIApp, options: Options) -> None:
        self._app = app
        self._limit = options.guards.max_body
        self._seconds = options.guards.seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length, kind, chunked, waits = _described(scope)
        if not length and not chunked:
            await self._app(scope, receive, send)
            return
        is_json = _is_json(kind)
        if not is_json and not kind.startswith(_UPLOAD) and scope["method"] not in ("GET", "HEAD"):
            text = "the body must be JSON: send it with `Content-Type: application/json`"
            await refuse(scope, send, 415, text, _CLOSE)
            return
        try:
            if length > self._limit:
                if not waits:
                    await _drop(receive)
                raise self._too_large()
            body = await self._read(receive)
            if body is None:
                return
            if is_json:
                scope[IDS] = _ids(check_json(body))
        except Refusal as error:
            await refuse(scope, send, error.status, error.detail, _CLOSE if error.status != 422 else ())
            return
        await self._app(scope, _replaying(body, receive), send)

    async def _read(self, receive: Receive) -> bytes | None:
        """The body; None if its sender has left."""
        message = await self._next(receive, self._seconds)
        body: bytes = message.get("body", b"")
        if message["type"] == "http.disconnect":
            return None
        if not message.get("more_body"):
            return body
        loop = asyncio.get_running_loop()
        began, parts, size = loop.time(), [body], len(body)
        while message.get("more_body"):
            left = began + self._seconds + size / _LEAST_RATE - loop.time()
            message = await self._next(receive, min(self._seconds, left))
            if message["type"] == "http.disconnect":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._limit:
                parts.clear()
                await _drop(receive)
                raise self._too_large()
        return b"".join(parts)

    async def _next(self, receive: Receive, seconds: float) -> Message:
        try:
            async with asyncio.timeout(seconds):
                return await receive()
        except TimeoutError:
            raise Refusal(408, "the rest of the request did not come") from None

    def _too_large(self) -> Refusal:
        return Refusal(413, f"the body is larger than {self._limit} bytes: start the server with a larger --max-body")


def _described(scope: Scope) -> tuple[int, bytes, bool, bool]:
    """The length of the body, its media type, whether it comes in chunks, whether its sender waits to be asked."""
    length, kind, chunked, waits = 0, b"", False, False
    for name, value in scope["headers"]:
        if name == b"content-length":
            length = int(value) if value.isdigit() else 0
        elif name == b"content-type":
            kind = value.strip().lower()
        elif name == b"transfer-encoding":
            chunked = True
        elif name == b"expect":
            waits = True
    return length, kind, chunked, waits


def _is_json(kind: bytes) -> bool:
    return kind.partition(b";")[0].strip() == b"application/json"


async def _drop(receive: Receive) -> None:
    size = 0
    try:
        async with asyncio.timeout(_DROP_SECONDS):
            while size < _MOST_DROPPED:
                message = await receive()
                size += len(message.get("body", b""))
                if not message.get("more_body"):
                    return
    except TimeoutError:
        pass


def _replaying(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body, then what else comes."""
    given = False

    async def receiving() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving


def _ids(value: Any) -> dict[str, str]:
    """Whom a request is about, for the access log."""
    if not isinstance(value, dict):
        return {}
    return {
        name: found
        for name, keys in _IDS.items()
        for key in keys
        if isinstance(found := value.get(key), str) and len(found) <= _LONGEST_ID
    }


def check_json(body: bytes) -> Any:
    """The value of `body`; a Refusal unless it is JSON that every store can keep and every reader can read."""
    try:
        value = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise _invalid(f"the body is not valid JSON: {error}") from None
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH or _SUSPECT.search(body) is not None:
        _check_values(value)
    return value


def _invalid(text: str) -> Refusal:
    """As a body that does not fit its type is refused."""
    return Refusal(422, [{"type": "json_invalid", "loc": ["body"], "msg": text}])


def _check_values(value: Any) -> None:
    """Raise a Refusal if something is too deep or too large; level by level, because depth is what it limits."""
    level, depth = [value], 0
    while level:
        containers = [one for one in level if isinstance(one, (dict, list))]
        depth += bool(containers)
        if depth > MAX_DEPTH:
            raise _invalid(f"the body is nested more than {MAX_DEPTH} levels deep")
        if any(map(_is_too_large, level)):
            raise _invalid("the body holds a number that is too large")
        level = [item for one in containers for item in (one.values() if isinstance(one, dict) else one)]


def _is_too_large(value: object) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    return isinstance(value, int) and value.bit_length() > _MAX_BITS
