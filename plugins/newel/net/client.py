"""The client of outgoing requests: each URL passes the guard, and so does each redirect.

Proxies of the environment are not used: they would resolve the name again.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse
from os import SEEK_END
from typing import IO, TypeAlias
from urllib.parse import urljoin

from newel.net.addresses import Address
from newel.net.guard import DEFAULT_POLICY, PORTS, FetchError, Policy, Target, check

#: The body of a request: a file is sent from its beginning, piece by piece.
Body: TypeAlias = bytes | IO[bytes]
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
#: The headers of every request; a caller's headers are added, but only for the origin that the caller named.
_OWN_HEADERS = {"User-Agent": "newel", "Accept": "*/*", "Accept-Encoding": "identity"}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. `url` is the last one of the redirects; header names are lower case; `truncated`: it has more body."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    truncated: bool = False

    @property
    def content_type(self) -> str:
        """The media type, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


async def fetch(
    url: str,
    policy: Policy = DEFAULT_POLICY,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: Body | None = None,
) -> Reply:
    """The answer to a request, redirects followed; raises UrlRefusedError or FetchError."""
    return await asyncio.to_thread(fetch_blocking, url, policy, method=method, headers=headers, body=body)


def fetch_blocking(
    url: str,
    policy: Policy = DEFAULT_POLICY,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: Body | None = None,
) -> Reply:
    """`fetch`, for code outside an event loop."""
    deadline = time.monotonic() + policy.seconds
    sent: Mapping[str, str] = {**_OWN_HEADERS, **(headers or {}), "Accept-Encoding": "identity"}
    target = check(url, policy, policy.seconds)
    for _ in range(policy.max_redirects + 1):
        reply = _exchange(target, policy, deadline, method, sent, body)
        location = reply.headers.get("location")
        if reply.status not in _REDIRECTS or not location:
            return reply
        following = check(urljoin(target.url, location), policy, deadline - time.monotonic())
        if following.origin != target.origin:
            sent = _OWN_HEADERS
        if reply.status == 303 or (reply.status in (301, 302) and method == "POST"):
            method, body = "GET" if method != "HEAD" else method, None
        target = following
    raise FetchError(f"{url} redirects more than {policy.max_redirects} times")


class _Connection(HTTPConnection):
    """A connection to a checked address; the name stays in the Host header and in TLS."""

    def __init__(self, target: Target, address: Address, seconds: float) -> None:
        super().__init__(target.host, target.port, timeout=seconds)
        self.default_port = PORTS[target.scheme]
        self._address = str(address)
        self._encrypted = target.scheme == "https"
        #: The socket, even if `sock` is None: the response takes it over when the connection is not kept.
        self.open_socket: socket.socket | None = None

    def connect(self) -> None:
        self.sock = self.open_socket = socket.create_connection((self._address, self.port), self.timeout)
        if self._encrypted:
            context = ssl.create_default_context()
            # The handshake comes after the assignment: only then can the deadline cut it off.
            encrypted = context.wrap_socket(self.sock, server_hostname=self.host, do_handshake_on_connect=False)
            self.sock = self.open_socket = encrypted
            encrypted.do_handshake()


def _exchange(
    target: Target, policy: Policy, deadline: float, method: str, headers: Mapping[str, str], body: Body | None
) -> Reply:
    """One request, to the first address that takes the connection."""
    timeout_text = f"{target.url} took longer than {policy.seconds:g} seconds"
    for address in target.addresses:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            break
        connection = _Connection(target, address, remaining)
        with _cut_off(connection, remaining) as is_late:
            try:
                connection.connect()
            except OSError as error:
                problem: Exception = error
                continue
            try:
                connection.request(method, target.path, body=body, headers={**headers, **_length(body)})
                with connection.getresponse() as response:
                    reply = _read(response, target.url, policy.max_bytes)
            except (OSError, HTTPException, ValueError) as error:
                text = timeout_text if is_late() or isinstance(error, TimeoutError) else f"{target.url}: {error}"
                raise FetchError(text) from error
            if is_late():  # a connection that is cut off can look like a body that ends
                raise FetchError(timeout_text)
            return reply
    if time.monotonic() >= deadline:
        raise FetchError(timeout_text)
    raise FetchError(f"{target.url}: no connection to {target.host}:{target.port}: {problem}") from problem


def _length(body: Body | None) -> Mapping[str, str]:
    """The header with the length of a file, which is sent from its beginning, and again after a redirect."""
    if body is None or isinstance(body, bytes):
        return {}
    size = body.seek(0, SEEK_END)
    body.seek(0)
    return {"Content-Length": str(size)}


@contextmanager
def _cut_off(connection: _Connection, seconds: float) -> Iterator[Callable[[], bool]]:
    """Close `connection` at the end, and shut it down after `seconds`: a socket's timeout is for one read only."""
    fired = threading.Event()

    def shut() -> None:
        fired.set()
        if connection.open_socket is not None:
            with suppress(OSError):
                socket.socket.shutdown(connection.open_socket, socket.SHUT_RDWR)  # not SSL's: a thread may be in it

    timer = threading.Timer(seconds, shut)
    timer.daemon = True
    timer.start()
    try:
        yield fired.is_set
    finally:
        timer.cancel()
        connection.close()


def _read(response: HTTPResponse, url: str, limit: int) -> Reply:
    headers = {name.lower(): value for name, value in response.getheaders()}
    if headers.get("content-encoding", "identity").lower() not in ("identity", ""):
        raise FetchError(f"{url} is answered in the encoding {headers['content-encoding']!r}, which was not asked for")
    body = bytearray()
    while len(body) <= limit and (chunk := response.read(min(65_536, limit + 1 - len(body)))):
        body += chunk
    return Reply(url, response.status, headers, bytes(body[:limit]), len(body) > limit)
