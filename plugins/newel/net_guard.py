"""The guard of outgoing requests: a URL that came from a model, a page or a document is fetched through here.

Such a URL must not reach what only this machine can reach. The host name is resolved, every address of it must be
public, and the connection goes to an address that was checked, so that a second answer of the name server changes
nothing. Each redirect is checked like the first URL. Proxies of the environment are not used: they would resolve
the name again.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from newel_kernel import NewelError

Address = IPv4Address | IPv6Address

_PORTS = {"http": 80, "https": 443}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PERSONAL = frozenset({"authorization", "cookie", "proxy-authorization", "x-api-key", "x-goog-api-key"})
#: Refused although Python, or some version of it, counts them as public.
_NEVER = tuple(
    map(
        ipaddress.ip_network,
        (
            "100.64.0.0/10",  # shared by carriers; holds the metadata service of a cloud
            "168.63.129.16/32",  # the platform service of a cloud
            "192.0.0.0/24",  # protocol assignments; holds the metadata service of a cloud
            "192.88.99.0/24",
            "64:ff9b:1::/48",
            "fec0::/10",
        ),
    )
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")


class UrlRefusedError(NewelError, ValueError):
    """The URL, or one that it redirects to, must not be fetched; the message says why."""


class FetchError(NewelError, OSError):
    """The URL may be fetched and could not be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What may be fetched, and how much of it.

    `allow` lists what else than public addresses may be reached: a host name, ``host:port``, an address or a
    network (``10.1.0.0/16``). `seconds` is for everything, redirects included.
    """

    allow: tuple[str, ...] = ()
    max_bytes: int = 5_000_000
    seconds: float = 20.0
    max_redirects: int = 5


DEFAULT = Policy()


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. `url` is the last one of the redirects; header names are lower case; `truncated`: the body goes on."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    truncated: bool = False

    @property
    def content_type(self) -> str:
        """The media type, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


@dataclass(frozen=True, slots=True)
class Target:
    """A URL taken apart, and the addresses that its connection may go to."""

    url: str
    scheme: str
    host: str
    port: int
    path: str
    addresses: tuple[Address, ...]

    @property
    def origin(self) -> tuple[str, str, int]:
        """Whom a credential is for."""
        return self.scheme, self.host, self.port


async def fetch(
    url: str,
    policy: Policy = DEFAULT,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
) -> Reply:
    """The answer to a request, redirects followed; raises UrlRefusedError or FetchError."""
    return await asyncio.to_thread(fetch_blocking, url, policy, method=method, headers=headers, body=body)


def fetch_blocking(
    url: str,
    policy: Policy = DEFAULT,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
) -> Reply:
    """`fetch`, for code outside an event loop."""
    deadline = time.monotonic() + policy.seconds
    sent = {"User-Agent": "newel", "Accept": "*/*", **(headers or {}), "Accept-Encoding": "identity"}
    target = check(url, policy)
    for _ in range(policy.max_redirects + 1):
        reply = _ask(target, policy, deadline, method, sent, body)
        location = reply.headers.get("location")
        if reply.status not in _REDIRECTS or not location:
            return reply
        there = check(urljoin(target.url, location), policy)
        if there.origin != target.origin:
            sent = {name: value for name, value in sent.items() if name.lower() not in _PERSONAL}
        if reply.status == 303 or (reply.status in (301, 302) and method == "POST"):
            method, body = "GET" if method != "HEAD" else method, None
        target = there
    raise FetchError(f"{url} redirects more than {policy.max_redirects} times")


def check(url: str, policy: Policy = DEFAULT) -> Target:
    """The target of `url`, its host resolved; raises UrlRefusedError where it must not be fetched."""
    parts = _split(url)
    try:
        host = (parts.hostname or "").rstrip(".")
        port = parts.port or _PORTS[parts.scheme]
        ascii_host = host if ":" in host else host.encode("idna").decode("ascii")
    except (ValueError, UnicodeError) as error:
        raise UrlRefusedError(f"{url!r} is no valid URL: {error}") from None
    if not ascii_host:
        raise UrlRefusedError(f"{url!r} names no host")
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._") + (
        "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~-._?") if parts.query else ""
    )
    addresses = _resolve(ascii_host, port)
    if ascii_host not in policy.allow and f"{ascii_host}:{port}" not in policy.allow:
        for address in addresses:
            if not (is_public(address) or _allowed(address, port, policy)):
                raise UrlRefusedError(f"{host!r} is no public host: it has the address {address}")
    return Target(url, parts.scheme, ascii_host, port, path, addresses)


def is_public(address: Address) -> bool:
    """Whether `address`, and any IPv4 address in it, belongs to the public internet."""
    inner = _inner(address)
    if inner is not None:
        return is_public(inner)
    never = any(address.version == network.version and address in network for network in _NEVER)
    return address.is_global and not (never or address.is_multicast or address.is_reserved)


def _inner(address: Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for."""
    if isinstance(address, IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64 or address in _COMPATIBLE:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None


def _allowed(address: Address, port: int, policy: Policy) -> bool:
    shown = f"[{address}]" if address.version == 6 else str(address)
    for entry in policy.allow:
        if entry in (str(address), f"{shown}:{port}"):
            return True
        with suppress(ValueError):
            if "/" in entry and address in ipaddress.ip_network(entry):
                return True
    return False


def _split(url: str) -> SplitResult:
    if any(character <= " " or character == "\x7f" or character == "\\" for character in url):
        raise UrlRefusedError(f"{url!r} holds blanks, control characters or backslashes")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise UrlRefusedError(f"{url!r} is no valid URL: {error}") from None
    if parts.scheme not in _PORTS:
        raise UrlRefusedError(f"{url!r} is neither http nor https")
    if parts.username is not None or parts.password is not None:
        raise UrlRefusedError("the URL holds a user name or a password; send them in a header")
    return parts


def _resolve(host: str, port: int) -> tuple[Address, ...]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise FetchError(f"the host {host!r} cannot be resolved: {error}") from None
    texts = dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found)
    return tuple(ipaddress.ip_address(text) for text in texts)


class _Connection(HTTPConnection):
    """A connection to a checked address; the name stays in the Host header and in TLS."""

    def __init__(self, target: Target, address: Address, seconds: float) -> None:
        super().__init__(target.host, target.port, timeout=seconds)
        self.default_port = _PORTS[target.scheme]
        self._address = str(address)
        self._encrypted = target.scheme == "https"
        #: The socket, also where `sock` is None: the answer takes it over when the connection is not to be kept.
        self.open: socket.socket | None = None

    def connect(self) -> None:
        self.sock = self.open = socket.create_connection((self._address, self.port), self.timeout)
        if self._encrypted:
            context = ssl.create_default_context()
            # The handshake comes after the assignment: only then can the deadline cut it off.
            encrypted = context.wrap_socket(self.sock, server_hostname=self.host, do_handshake_on_connect=False)
            self.sock = self.open = encrypted
            encrypted.do_handshake()


def _ask(
    target: Target, policy: Policy, deadline: float, method: str, headers: Mapping[str, str], body: bytes | None
) -> Reply:
    """One request, to the first address that takes the connection."""
    late = f"{target.url} took longer than {policy.seconds:g} seconds"
    for address in target.addresses:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        connection = _Connection(target, address, left)
        with _cut_off(connection, left) as is_late:
            try:
                connection.connect()
            except OSError as error:
                problem: Exception = error
                continue
            try:
                connection.request(method, target.path, body=body, headers=dict(headers))
                with connection.getresponse() as response:
                    reply = _read(response, target.url, policy.max_bytes)
            except (OSError, HTTPException, ValueError) as error:
                shown = late if is_late() or isinstance(error, TimeoutError) else f"{target.url}: {error}"
                raise FetchError(shown) from error
            if is_late():  # a connection that is cut off can look like a body that ends
                raise FetchError(late)
            return reply
    if time.monotonic() >= deadline:
        raise FetchError(late)
    raise FetchError(f"{target.url}: no connection to {target.host}:{target.port}: {problem}") from problem


@contextmanager
def _cut_off(connection: _Connection, seconds: float) -> Iterator[Callable[[], bool]]:
    """Close `connection` at the end, and shut it after `seconds`: a socket's time-out is for one read only."""
    fired = threading.Event()

    def shut() -> None:
        fired.set()
        if connection.open is not None:
            with suppress(OSError):
                socket.socket.shutdown(connection.open, socket.SHUT_RDWR)  # not SSL's own, which a thread may be in

    timer = threading.Timer(seconds, shut)
    timer.daemon = True
    timer.start()
    try:
        yield fired.is_set
    finally:
        timer.cancel()
        connection.close()


def _read(response: HTTPResponse, url: str, most: int) -> Reply:
    headers = {name.lower(): value for name, value in response.getheaders()}
    if headers.get("content-encoding", "identity").lower() not in ("identity", ""):
        raise FetchError(f"{url} is answered in the encoding {headers['content-encoding']!r}, which was not asked for")
    body = bytearray()
    while len(body) <= most and (chunk := response.read(min(65_536, most + 1 - len(body)))):
        body += chunk
    return Reply(url, response.status, headers, bytes(body[:most]), len(body) > most)
