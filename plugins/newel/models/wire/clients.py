"""Clients: one per event loop, over HTTP clients that are bounded, stay at one host, and close with the loop."""

from __future__ import annotations

import os
import ssl
from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any, Generic, TypeVar

from newel.connections import PerLoop
from newel.models.wire.limits import Limits, offline_reason
from newel.models.wire.observers import tell_observers
from newel.models.wire.service import Service

S = TypeVar("S")
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Client(Generic[S]):
    """A client of an SDK and the HTTP client beneath it, both of one event loop."""

    sdk: S
    http: Any = field(repr=False)
    service: Service


class Clients(Generic[S]):
    """The clients of one model, by event loop: an asynchronous client works in one loop only.

    A client's key is what it was made for, such as the bound of its answers. Most models have one client.
    """

    def __init__(self) -> None:
        self._by_loop: PerLoop[dict[Hashable, Client[S]]] = PerLoop(dict, _close)

    def __deepcopy__(self, memo: dict[int, object]) -> Clients[S]:
        return Clients()  # a copied model makes clients of its own

    def __reduce__(self) -> tuple[type[Clients[S]], tuple[()]]:
        return Clients, ()

    async def client(self, make: Callable[[], tuple[S, Any, Service]], key: Hashable = None) -> Client[S]:
        """The running loop's client. `make` gives the SDK's client, the HTTP client beneath it, and the service."""
        clients = self._by_loop.get()
        client = clients.get(key)
        if client is None:
            client = clients[key] = Client(*make())
        return client

    async def aclose(self) -> None:
        """Close the running loop's clients; the next call makes a new one."""
        await self._by_loop.close()


async def _close(clients: Mapping[Hashable, Client[Any]]) -> None:
    async with (
        AsyncExitStack() as stack
    ):  # each is closed, also if another one fails or the loop cancels its last tasks
        for client in clients.values():
            stack.push_async_callback(client.http.aclose)


def http_client(library: str, service: Service, limits: Limits, **options: Any) -> Any:
    """An AsyncClient of ``httpx`` or ``httpx2`` for an SDK.

    It follows no redirect (one would carry the key to another host), reads no more than the limit, and opens no socket
    if NEWEL_OFFLINE is set. `options` are passed on.
    """
    http = import_module(library)
    context = ssl_context(library)
    options.setdefault("timeout", limits.timeout(library))
    client = http.AsyncClient(verify=context, follow_redirects=False, **options)
    client.headers["accept-encoding"] = "identity"  # without compression, the bound on bytes read bounds the content
    for place, transport in [*client._mounts.items(), (None, client._transport)]:
        if transport is not None:
            bounded = _bounded(http)(transport, service, limits)
            if place is None:
                client._transport = bounded
            else:
                client._mounts[place] = bounded
    return client


def ssl_context(library: str) -> ssl.SSLContext:
    """One context for all clients: reading the certificates takes 15 ms. SSL_CERT_FILE and SSL_CERT_DIR change it."""
    return _ssl_context(library, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(maxsize=4)
def _ssl_context(library: str, file: str | None, folder: str | None) -> ssl.SSLContext:
    context: ssl.SSLContext = import_module(library).create_ssl_context()
    return context


@lru_cache(maxsize=2)
def _bounded(http: ModuleType) -> Callable[[Any, Service, Limits], Any]:
    """A transport that wraps another one, as a class of the library, which checks for its own classes."""

    class Bounded(http.AsyncBaseTransport):  # type: ignore[misc,name-defined]
        def __init__(self, inner: Any, service: Service, limits: Limits) -> None:
            self._inner, self._service, self._limits = inner, service, limits

        async def handle_async_request(self, request: Any) -> Any:
            if reason := offline_reason(str(request.url.host)):
                raise self._service.failed("OFFLINE", reason)
            tell_observers(server=(request.url.host, request.url.port or _PORTS.get(request.url.scheme)))
            _bound_time(request, self._limits.timeout(http.__name__).as_dict())
            response = await self._inner.handle_async_request(request)
            _check_length(response.headers, self._service, self._limits)
            response.stream = Stream(response.stream, self._service, self._limits.response_bytes)
            return response

        async def aclose(self) -> None:
            await self._inner.aclose()

    class Stream(http.AsyncByteStream):  # type: ignore[misc,name-defined]
        def __init__(self, inner: Any, service: Service, most: int) -> None:
            self._inner, self._service, self._most = inner, service, most

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in self._inner:
                size += len(chunk)
                if size > self._most:
                    raise self._service.too_large(self._most)
                yield chunk

        async def aclose(self) -> None:
            await self._inner.aclose()

    return Bounded


def _bound_time(request: Any, times: Mapping[str, float | None]) -> None:
    """Give a request its timeouts if the SDK set none."""
    if not any((request.extensions.get("timeout") or {}).values()):
        request.extensions = {**request.extensions, "timeout": times}


def _check_length(headers: Mapping[str, str], service: Service, limits: Limits) -> None:
    length = headers.get("content-length", "")
    if length.isdigit() and int(length) > limits.response_bytes:
        raise service.too_large(limits.response_bytes)
