"""Pool: connections that are kept and used again, each to an address that has passed the guard.

Proxies of the environment are not used: they would resolve the name again. A request is cancelled with its task.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import TypeAlias
from urllib.parse import urljoin

import httpcore2

from newel.net.client import Reply
from newel.net.guard import FetchError, Policy, Target, UrlRefusedError, find_addresses, take_apart

#: Names and values, in the order in which they are sent; a name may come several times.
Headers: TypeAlias = Sequence[tuple[str, str]]
#: Pieces of a body, each sent by itself; they are sent again after some redirects.
Pieces: TypeAlias = Sequence[bytes]
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_OWN_HEADERS = (("User-Agent", "newel"), ("Accept-Encoding", "identity"))
#: Headers that describe a body.
_OF_BODY = ("content-type", "content-length")
#: Seconds that an unused connection is kept.
_IDLE = 60.0
_CHUNK = 65_536
_TRANSPORT_ERRORS = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.TimeoutException,
    httpcore2.UnsupportedProtocol,
    OSError,
    ssl.SSLError,
)


class UnsentError(FetchError):
    """The request was not sent: there was no connection."""


class Pool:
    """Sends requests of one event loop; `follow` says to which origins a redirect may lead."""

    def __init__(self, policy: Policy, *, context: ssl.SSLContext | None = None, most: int = 20) -> None:
        self._policy = policy
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            max_connections=most,
            max_keepalive_connections=most,
            keepalive_expiry=_IDLE,
            network_backend=_Guarded(policy),
        )

    async def send(
        self,
        method: str,
        url: str,
        headers: Headers = (),
        body: Pieces | None = None,
        *,
        follow: Callable[[Target], bool] = lambda target: False,
    ) -> Reply:
        """The answer to a request; raises UrlRefusedError, UnsentError if it was not sent, or FetchError.

        A redirect is followed if `follow` says so, and its answer is returned otherwise, also if it leads to nothing
        that is a URL. The given headers go only to the origin of `url`.
        """
        target = take_apart(url)
        try:
            async with asyncio.timeout(self._policy.seconds):
                return await self._followed(method, target, headers, body, follow)
        except (TimeoutError, httpcore2.TimeoutException) as error:
            raise FetchError(f"{place_of(target)} did not answer within {self._policy.seconds:g} seconds") from error

    async def _followed(
        self, method: str, target: Target, headers: Headers, body: Pieces | None, follow: Callable[[Target], bool]
    ) -> Reply:
        first = target
        for number in range(self._policy.max_redirects + 1):
            try:
                reply = await self._exchange(method, target, headers, body)
            except (UnsentError, UrlRefusedError) as error:
                if number == 0:
                    raise
                raise FetchError(f"{place_of(first)} redirects, and {error}") from error  # the first one was sent
            following = _following(target, reply)
            if following is None or not follow(following):
                return reply
            if reply.status == 303 or (reply.status in (301, 302) and method == "POST"):
                method, body = "GET" if method != "HEAD" else method, None
                headers = [(name, value) for name, value in headers if name.lower() not in _OF_BODY]
            if following.origin != target.origin:
                headers = [(name, value) for name, value in headers if name.lower() in _OF_BODY]
            target = following
        raise FetchError(f"{place_of(target)} redirects more than {self._policy.max_redirects} times")

    async def _exchange(self, method: str, target: Target, headers: Headers, body: Pieces | None) -> Reply:
        host = f"[{target.host}]" if ":" in target.host else target.host
        request = httpcore2.Request(
            method,
            httpcore2.URL(scheme=target.scheme, host=host, port=target.port, target=target.path),
            headers=_encoded(target, headers, body),
            content=_Upload(body) if body is not None else None,
            extensions={"timeout": dict.fromkeys(("connect", "read", "write", "pool"), self._policy.seconds)},
        )
        try:
            async with AsyncExitStack() as stack:
                response = await self._pool.handle_async_request(request)
                stack.push_async_callback(response.aclose)
                return await _read(response, target.url, self._policy.max_bytes)
        except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
            raise UnsentError(f"no connection to {place_of(target)}: {error or type(error).__name__}") from error
        except httpcore2.TimeoutException:
            raise
        except (FetchError, UrlRefusedError):
            raise
        except _TRANSPORT_ERRORS as error:
            raise FetchError(f"{place_of(target)}: {error or type(error).__name__}") from error

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.aclose()


def place_of(target: Target) -> str:
    """Where a request goes, without its path and its query, which may hold a secret."""
    return f"{target.scheme}://{target.host}:{target.port}"


def _following(target: Target, reply: Reply) -> Target | None:
    """Where a redirect leads; None if the answer is none, or leads nowhere."""
    location = reply.headers.get("location")
    if reply.status not in _REDIRECTS or not location:
        return None
    try:
        return take_apart(urljoin(target.url, location))
    except (UrlRefusedError, ValueError):
        return None


class _Guarded(httpcore2.AsyncNetworkBackend):
    """Connects to the addresses of a host that the guard has checked, and to no other."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's own name
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        seconds = self._policy.seconds if timeout is None else timeout
        try:
            addresses = await find_addresses(host.strip("[]"), port, self._policy, seconds)
        except UrlRefusedError:
            raise
        except FetchError as error:
            raise UnsentError(str(error)) from error
        failure: Exception = httpcore2.ConnectError(f"{host} has no address")
        for address in addresses:
            try:
                return await self._network.connect_tcp(str(address), port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure


class _Upload(AsyncIterable[bytes]):
    """A body, piece by piece."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            view = memoryview(piece)
            for start in range(0, len(view), _CHUNK):
                yield bytes(view[start : start + _CHUNK])


def _encoded(target: Target, headers: Headers, body: Pieces | None) -> list[tuple[bytes, bytes]]:
    names = {name.lower() for name, _ in headers}
    default = target.port == {"http": 80, "https": 443}[target.scheme]
    host = f"[{target.host}]" if ":" in target.host else target.host
    sent = [("Host", host if default else f"{host}:{target.port}")]
    sent += [(name, value) for name, value in _OWN_HEADERS if name.lower() not in names]
    sent += [(name, value) for name, value in headers if name.lower() not in ("host", "content-length")]
    if body is not None:
        sent.append(("Content-Length", str(sum(map(len, body)))))
    return [(name.encode("ascii"), value.encode("latin-1")) for name, value in sent]


async def _read(response: httpcore2.Response, url: str, limit: int) -> Reply:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
    encoding = headers.get("content-encoding", "identity").lower()
    if encoding not in ("identity", ""):
        raise FetchError(f"the answer has the encoding {encoding!r}, which was not asked for")
    body = bytearray()
    async with aclosing(response.aiter_stream()) as chunks:
        async for chunk in chunks:
            body += chunk
            if len(body) > limit:
                break
    return Reply(url, response.status, headers, bytes(body[:limit]), len(body) > limit)
