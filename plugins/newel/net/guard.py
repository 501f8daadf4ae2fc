"""The guard of outgoing requests: which URLs may be fetched, and from which addresses.

A URL that came from a model, a page or a document must not reach what only this machine can reach. The host name is
resolved, every one of its addresses must be public, and the connection goes to a checked address, so that a second
answer of the name server changes nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

from newel.net.addresses import Address, is_public
from newel_kernel import NewelError

#: The schemes that are fetched, with their default ports.
PORTS = {"http": 80, "https": 443}


class UrlRefusedError(NewelError, ValueError):
    """The URL, or one that it redirects to, must not be fetched; the message says why."""


class FetchError(NewelError, OSError):
    """The URL may be fetched, but could not be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What may be fetched, and how much of it.

    `allow` lists what may be reached in addition to public addresses: a host name, ``host:port``, an address or a
    network (``10.1.0.0/16``). `seconds` limits the whole fetch, redirects included.
    """

    allow: tuple[str, ...] = ()
    max_bytes: int = 5_000_000
    seconds: float = 20.0
    max_redirects: int = 5


DEFAULT_POLICY = Policy()


@dataclass(frozen=True, slots=True)
class Target:
    """A URL taken apart, and the addresses that its connection may go to."""

    url: str
    scheme: str
    host: str
    port: int
    path: str
    addresses: tuple[Address, ...] = ()

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port; a credential is for one origin only."""
        return self.scheme, self.host, self.port


def check(url: str, policy: Policy = DEFAULT_POLICY, seconds: float | None = None) -> Target:
    """The target of `url`, its host resolved within `seconds` (by default those of the policy).

    Raises UrlRefusedError if it must not be fetched, FetchError if the host is not resolved in time.
    """
    target = take_apart(url)
    addresses = checked_addresses(target.host, target.port, policy, policy.seconds if seconds is None else seconds)
    return replace(target, addresses=addresses)


def take_apart(url: str) -> Target:
    """The target of `url`, without addresses: nothing is resolved. Raises UrlRefusedError if it is not a plain URL."""
    parts = _split(url)
    try:
        host = (parts.hostname or "").rstrip(".")
        port = parts.port or PORTS[parts.scheme]
        ascii_host = host if ":" in host else host.encode("idna").decode("ascii")
    except (ValueError, UnicodeError) as error:
        raise UrlRefusedError(f"{url!r} is not a valid URL: {error}") from None
    if not ascii_host:
        raise UrlRefusedError(f"{url!r} names no host")
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._") + (
        "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~-._?") if parts.query else ""
    )
    return Target(url, parts.scheme, ascii_host, port, path)


def checked_addresses(host: str, port: int, policy: Policy, seconds: float) -> tuple[Address, ...]:
    """The addresses of a host, resolved now; raises UrlRefusedError if the policy refuses one of them."""
    return _public(_resolve(host, port, seconds), host, port, policy)


async def find_addresses(host: str, port: int, policy: Policy, seconds: float) -> tuple[Address, ...]:
    """The same in an event loop; no thread of the loop's pool waits for a name server."""
    try:
        async with asyncio.timeout(max(seconds, 0.0)):  # wait_for may swallow a cancellation
            entries = await asyncio.wrap_future(_asked(host, port))
    except TimeoutError:
        raise _late(host, seconds) from None
    except (OSError, UnicodeError) as error:
        raise _unresolved(host, error) from None
    return _public(_addresses(entries), host, port, policy)


def _public(addresses: tuple[Address, ...], host: str, port: int, policy: Policy) -> tuple[Address, ...]:
    """The addresses; raises UrlRefusedError if the policy refuses one of them."""
    if host not in policy.allow and f"{host}:{port}" not in policy.allow:
        for address in addresses:
            if not (is_public(address) or _allowed(address, port, policy)):
                raise UrlRefusedError(f"{host!r} is not a public host: it has the address {address}")
    return addresses


def _allowed(address: Address, port: int, policy: Policy) -> bool:
    host_text = f"[{address}]" if address.version == 6 else str(address)
    for entry in policy.allow:
        if entry in (str(address), f"{host_text}:{port}"):
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
        raise UrlRefusedError(f"{url!r} is not a valid URL: {error}") from None
    if parts.scheme not in PORTS:
        raise UrlRefusedError(f"{url!r} is neither http nor https")
    if parts.username is not None or parts.password is not None:
        raise UrlRefusedError("the URL holds a user name or a password; send them in a header")
    return parts


def _resolve(host: str, port: int, seconds: float) -> tuple[Address, ...]:
    try:
        return _addresses(_asked(host, port).result(max(seconds, 0.0)))
    except TimeoutError:
        raise _late(host, seconds) from None
    except (OSError, UnicodeError) as error:
        raise _unresolved(host, error) from None


def _asked(host: str, port: int) -> Future[list[Any]]:
    """What the resolver will answer."""
    answer: Future[list[Any]] = Future()

    def ask() -> None:
        with suppress(InvalidStateError):  # nobody waits any more
            try:
                answer.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
            except BaseException as error:  # noqa: BLE001 - it is raised in the waiting thread
                answer.set_exception(error)

    # A separate thread, abandoned when it is late: nothing ends a resolver that waits for its name servers.
    threading.Thread(target=ask, name=f"newel-resolve {host}", daemon=True).start()
    return answer


def _late(host: str, seconds: float) -> FetchError:
    return FetchError(f"the host {host!r} was not resolved within {max(seconds, 0.0):.3g} seconds")


def _unresolved(host: str, error: Exception) -> FetchError:
    return FetchError(f"the host {host!r} cannot be resolved: {error}")


def _addresses(entries: list[Any]) -> tuple[Address, ...]:
    texts = dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in entries)
    return tuple(ipaddress.ip_address(text) for text in texts)
