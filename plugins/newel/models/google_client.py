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
from typing import Any, get_args
from weakref import WeakKeyDictionary

#: The headers that carry credentials.
_SECRET_HEADERS = ("x-goog-api-key", "authorization")
_MASK = "[api key]"

#: Where the responses that the running step of a call opens are noted, so that the call can close them.
_opened: ContextVar[list[Any] | None] = ContextVar("opened_responses", default=None)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What a client is made of. `key` is not shown."""

    vertex: bool
    key: str | None = field(repr=False)
    base_url: str | None
    #: The SDK's retry options as a dict, or None: one attempt.
    retry: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Connection:
    """A client of the SDK and the HTTP client beneath it, both of one event loop."""

    sdk: Any
    http: Any
    key: str | None = field(repr=False)
    #: Held open: the loop, or the garbage collector, ends it and thereby closes the HTTP client.
    keeper: AsyncGenerator[None, None] = field(repr=False)

    @asynccontextmanager
    async def stream(self, send: Callable[..., Awaitable[Any]], **arguments: Any) -> AsyncIterator[AsyncIterator[Any]]:
        """The chunks of what a method of the SDK streams. On leaving, the HTTP response is closed.

        The SDK nests five generators over the response and closes none of them; left to the garbage
        collector, the service would go on sending to an answer that nobody reads.
        """
        opened: list[Any] = []
        try:
            with _noting(opened):
                stream = await send(**arguments)
            async with aclosing(getattr(stream, "generator", stream)), aclosing(_chunks(stream, opened)) as chunks:
                yield chunks
        finally:
            for response in opened:
                await response.aclose()

    @contextmanager
    def errors_without_key(self) -> Iterator[None]:
        """Let errors pass as they are, but for the key in them."""
        try:
            yield
        except Exception as error:
            _scrub(error, self.key)
            raise


class Clients:
    """The connections of one model, by event loop: the SDK's asynchronous client works in one loop only."""

    def __init__(self) -> None:
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Connection] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def __deepcopy__(self, memo: dict[int, Any]) -> Clients:
        return Clients()  # a copied model makes connections of its own

    def __reduce__(self) -> tuple[type[Clients], tuple[()]]:
        return Clients, ()

    async def connection(self, endpoint: Callable[[], Endpoint]) -> Connection:
        """The running loop's connection."""
        loop = asyncio.get_running_loop()
        with self._lock:
            found = self._by_loop.get(loop)
        if found is None:
            found = _connect(endpoint())
            await anext(found.keeper)  # does not suspend; the loop learns of the keeper
            with self._lock:
                self._by_loop[loop] = found
        return found

    async def aclose(self) -> None:
        """Close the running loop's connection; the next call makes another."""
        with self._lock:
            found = self._by_loop.pop(asyncio.get_running_loop(), None)
        if found is not None:
            await found.keeper.aclose()


def _connect(endpoint: Endpoint) -> Connection:
    genai = import_module("google.genai")
    http_library = _http_library()
    context = _ssl_context(http_library)
    http = http_library.AsyncClient(
        verify=context,
        timeout=None,  # the caller's deadline, or the request's own, which the SDK passes on
        # A redirect would carry the key to another host.
        follow_redirects=False,
        event_hooks={"response": [_note]},
    )
    options: dict[str, Any] = {
        "httpx_async_client": http,
        # One SSL context for all that the SDK makes besides: it takes 15 ms each time to read the certificates.
        "client_args": {"verify": context},
        "async_client_args": {"verify": context, "ssl": context},
    }
    if endpoint.base_url:
        options["base_url"] = endpoint.base_url
    if endpoint.retry is not None:
        options["retry_options"] = endpoint.retry
    sdk = genai.Client(
        vertexai=endpoint.vertex, api_key=None if endpoint.vertex else endpoint.key, http_options=options
    )
    return Connection(sdk, http, endpoint.key, _keep(http))


async def _keep(http: Any) -> AsyncGenerator[None, None]:
    """Close `http` in its own loop: ``asyncio.run`` ends every open generator before it closes the loop."""
    try:
        yield
    finally:
        await http.aclose()


def _http_library() -> Any:
    """The HTTP library whose client the SDK takes (httpx, or httpx2 in newer releases)."""
    types = import_module("google.genai.types")
    accepted = types.HttpOptions.model_fields["httpx_async_client"].annotation
    classes = [kind for kind in get_args(accepted) if isinstance(kind, type) and kind is not type(None)]
    return import_module(classes[0].__module__.partition(".")[0])


@lru_cache(maxsize=1)
def _ssl_context(http_library: Any) -> ssl.SSLContext:
    context: ssl.SSLContext = http_library.create_ssl_context()
    return context


async def _note(response: Any) -> None:
    opened = _opened.get()
    if opened is not None:
        opened.append(response)


@contextmanager
def _noting(opened: list[Any]) -> Iterator[None]:
    """Note the responses that are opened meanwhile. Never across a yield to the caller: there, other calls may run."""
    token = _opened.set(opened)
    try:
        yield
    finally:
        _opened.reset(token)


async def _chunks(stream: Any, opened: list[Any]) -> AsyncGenerator[Any, None]:
    """The chunks of `stream`; the responses that it opens are noted in `opened`."""
    while True:
        try:
            with _noting(opened):  # some releases of the SDK send the request at the first step
                chunk = await anext(stream)
        except StopAsyncIteration:
            return
        yield chunk


def _scrub(error: BaseException | None, key: str | None) -> None:
    """Take the key out of an error of the SDK and of those it came from: its text, its details, its request."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if key:
            error.args = tuple(_masked(argument, key) for argument in error.args)
            for name in ("message", "details"):
                if hasattr(error, name):
                    setattr(error, name, _masked(getattr(error, name), key))
        for holder in (error, getattr(error, "response", None)):
            headers = _request_headers(holder)
            for name in _SECRET_HEADERS:
                headers.pop(name, None)
        error = error.__cause__ or error.__context__


def _request_headers(holder: Any) -> Any:
    """The headers of the request that an HTTP error or response belongs to."""
    try:
        return holder.request.headers
    except (AttributeError, RuntimeError):  # it has none, or none was set
        return {}


def _masked(value: Any, key: str) -> Any:
    if isinstance(value, str):
        return value.replace(key, _MASK)
    if isinstance(value, dict):
        return {name: _masked(inner, key) for name, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner, key) for inner in value]
    return value
