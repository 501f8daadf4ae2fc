"""The SDK's client of Gemini: one per event loop, whose connections close when they are no longer needed."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any, get_args
from weakref import WeakKeyDictionary

from newel.models.google.sdk import Answer, HttpClient, HttpResponse, Json, Sdk

#: A list for the responses that the running step of a call opens, so that the call can close them.
_opened: ContextVar[list[HttpResponse] | None] = ContextVar("opened_responses", default=None)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The settings of a client. `key` is not shown."""

    vertex: bool
    key: str | None = field(repr=False)
    base_url: str | None
    #: The SDK's retry options as a dict, or None: one attempt.
    retry: Json | None


@dataclass(frozen=True, slots=True)
class Connection:
    """A client of the SDK and the HTTP client beneath it, both of one event loop."""

    sdk: Sdk
    http: HttpClient
    key: str | None = field(repr=False)
    #: Held open: the loop, or the garbage collector, ends it and thereby closes the HTTP client.
    keeper: AsyncGenerator[None, None] = field(repr=False)

    @asynccontextmanager
    async def stream(
        self, send: Callable[..., Awaitable[Any]], **arguments: object
    ) -> AsyncIterator[AsyncIterator[Answer]]:
        """The chunks of what a method of the SDK streams. On leaving, the HTTP response is closed.

        The SDK nests five generators over the response and closes none of them; left to the garbage
        collector, the service would go on sending to an answer that nobody reads.
        """
        opened: list[HttpResponse] = []
        try:
            with _noting(opened):
                stream = await send(**arguments)
            async with aclosing(getattr(stream, "generator", stream)), aclosing(_chunks(stream, opened)) as chunks:
                yield chunks
        finally:
            for response in opened:
                await response.aclose()


class Clients:
    """The connections of one model, by event loop: the SDK's asynchronous client works in one loop only."""

    def __init__(self) -> None:
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Connection] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def __deepcopy__(self, memo: dict[int, object]) -> Clients:
        return Clients()  # a copied model makes connections of its own

    def __reduce__(self) -> tuple[type[Clients], tuple[()]]:
        return Clients, ()

    async def connection(self, endpoint: Callable[[], Endpoint]) -> Connection:
        """The running loop's connection."""
        loop = asyncio.get_running_loop()
        with self._lock:
            connection = self._by_loop.get(loop)
        if connection is None:
            connection = _connect(endpoint())
            await anext(connection.keeper)  # does not suspend; the loop learns of the keeper
            with self._lock:
                self._by_loop[loop] = connection
        return connection

    async def aclose(self) -> None:
        """Close the running loop's connection; the next call makes another."""
        with self._lock:
            connection = self._by_loop.pop(asyncio.get_running_loop(), None)
        if connection is not None:
            await connection.keeper.aclose()


def _connect(endpoint: Endpoint) -> Connection:
    genai = import_module("google.genai")
    http_library = _http_library()
    context = _ssl_context(http_library)
    http: HttpClient = http_library.AsyncClient(
        verify=context,
        timeout=None,  # the caller's deadline, or the request's own, which the SDK passes on
        # A redirect would carry the key to another host.
        follow_redirects=False,
        event_hooks={"response": [_note]},
    )
    options: Json = {
        "httpx_async_client": http,
        # One SSL context for all that the SDK makes besides: it takes 15 ms each time to read the certificates.
        "client_args": {"verify": context},
        "async_client_args": {"verify": context, "ssl": context},
    }
    if endpoint.base_url:
        options["base_url"] = endpoint.base_url
    if endpoint.retry is not None:
        options["retry_options"] = endpoint.retry
    sdk: Sdk = genai.Client(
        vertexai=endpoint.vertex, api_key=None if endpoint.vertex else endpoint.key, http_options=options
    )
    return Connection(sdk, http, endpoint.key, _keep(http))


async def _keep(http: HttpClient) -> AsyncGenerator[None, None]:
    """Close `http` in its own loop: ``asyncio.run`` ends every open generator before it closes the loop."""
    try:
        yield
    finally:
        await http.aclose()


def _http_library() -> ModuleType:
    """The HTTP library whose client the SDK takes (httpx, or httpx2 in newer releases)."""
    types = import_module("google.genai.types")
    accepted = types.HttpOptions.model_fields["httpx_async_client"].annotation
    classes = [kind for kind in get_args(accepted) if isinstance(kind, type) and kind is not type(None)]
    return import_module(classes[0].__module__.partition(".")[0])


@lru_cache(maxsize=1)
def _ssl_context(http_library: ModuleType) -> ssl.SSLContext:
    context: ssl.SSLContext = http_library.create_ssl_context()
    return context


async def _note(response: HttpResponse) -> None:
    opened = _opened.get()
    if opened is not None:
        opened.append(response)


@contextmanager
def _noting(opened: list[HttpResponse]) -> Iterator[None]:
    """Note the responses that are opened meanwhile. Never across a yield to the caller: there, other calls may run."""
    token = _opened.set(opened)
    try:
        yield
    finally:
        _opened.reset(token)


async def _chunks(stream: AsyncIterator[Answer], opened: list[HttpResponse]) -> AsyncGenerator[Answer, None]:
    """The chunks of `stream`; the responses that it opens are noted in `opened`."""
    while True:
        try:
            with _noting(opened):  # some releases of the SDK send the request at the first step
                chunk = await anext(stream)
        except StopAsyncIteration:
            return
        yield chunk
