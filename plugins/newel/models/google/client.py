"""The SDK's client of Gemini, and its streams; leaving a stream closes its HTTP response."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from typing import Any, get_args

from newel.models.google.sdk import Answer, HttpResponse, Json, Sdk
from newel.models.wire.clients import http_client, ssl_context
from newel.models.wire.limits import Limits
from newel.models.wire.service import Service

#: A list for the responses that the running step of a call opens, so that the call can close them.
_opened: ContextVar[list[HttpResponse] | None] = ContextVar("opened_responses", default=None)
#: For interactions the SDK makes several attempts by itself, some releases at least two; no answer has status 0.
SERVICE_ALONE: Json = {"attempts": 1, "http_status_codes": [0]}


@dataclass(frozen=True, slots=True)
class Connection:
    """A client of the SDK, and the service that a call goes to."""

    sdk: Sdk
    service: Service

    @asynccontextmanager
    async def stream(
        self, send: Callable[..., Awaitable[Any]], **arguments: object
    ) -> AsyncIterator[AsyncIterator[Answer]]:
        """The chunks that a method of the SDK streams. On leaving, the HTTP response is closed.

        The SDK nests five generators over the response and closes none of them; left to the garbage
        collector, the service would go on sending an answer that nobody reads.
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


def connect(
    service: Service, limits: Limits, credentials: Json, options: Json, sockets: Json | None = None
) -> tuple[Sdk, object, Service]:
    """A client of the SDK, and the HTTP client beneath it.

    `credentials` are the client's arguments for them; `options` configure its HTTP, `sockets` its WebSockets.
    """
    genai = import_module("google.genai")
    library = _http_library()
    http = http_client(library, service, limits, event_hooks={"response": [_note]})
    context = ssl_context(library)
    options = {
        **options,
        "httpx_async_client": http,
        # One SSL context for all other clients that the SDK makes.
        "client_args": {"verify": context},
        "async_client_args": {"verify": context, "ssl": context, **(sockets or {})},
    }
    sdk: Sdk = genai.Client(**credentials, http_options=options)
    return sdk, http, service


def _http_library() -> str:
    """The HTTP library whose client the SDK takes (httpx, or httpx2 in newer releases)."""
    types = import_module("google.genai.types")
    accepted = types.HttpOptions.model_fields["httpx_async_client"].annotation
    classes = [kind for kind in get_args(accepted) if isinstance(kind, type) and kind is not type(None)]
    return classes[0].__module__.partition(".")[0]


async def _note(response: HttpResponse) -> None:
    opened = _opened.get()
    if opened is not None:
        opened.append(response)


@contextmanager
def _noting(opened: list[HttpResponse]) -> Iterator[None]:
    """Note the responses that are opened meanwhile. Never across a yield to the caller, where other calls may run."""
    token = _opened.set(opened)
    try:
        yield
    finally:
        _opened.reset(token)


async def _chunks(stream: AsyncIterator[Answer], opened: list[HttpResponse]) -> AsyncGenerator[Answer, None]:
    """The chunks of `stream`; the response that it opens is noted in `opened`."""
    with _noting(opened):  # some releases of the SDK send the request at the first step
        first = await anext(stream, None)
    if first is None:
        return
    yield first
    async for chunk in stream:
        yield chunk
