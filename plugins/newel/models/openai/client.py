"""The SDK's client, which sends requests, and their bodies as bytes."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from newel.models.openai.events import events
from newel.models.wire.clients import Clients, http_client
from newel.models.wire.limits import Limits
from newel.models.wire.secrets import environment_headers
from newel.models.wire.service import UNREACHABLE, Service
from newel_kernel import Json, ModelError, NewelError

#: The variable with further headers, which the SDK sends to any endpoint.
CUSTOM_HEADERS = "OPENAI_CUSTOM_HEADERS"


class Response(Protocol):
    """A response of the HTTP library beneath the SDK."""

    content: bytes
    headers: Mapping[str, str]

    def aiter_bytes(self) -> AsyncGenerator[bytes, None]:
        """The body in pieces."""

    async def aclose(self) -> None:
        """Give the connection back, or close it if the body was not read to its end."""


class Realtime(Protocol):
    """``client.realtime``."""

    def connect(self, *, model: str, websocket_connection_options: Json) -> AbstractAsyncContextManager[object]:
        """Open a live connection, and close it on leaving."""


class Sdk(Protocol):
    """The part of an ``AsyncOpenAI`` that sends finished requests.

    Its methods for each endpoint would walk through every message again, and make an object of each chunk.
    """

    base_url: object
    realtime: Realtime
    organization: str | None
    project: str | None

    async def post(
        self, path: str, *, cast_to: type, body: object, options: Json, stream: bool = False, stream_cls: object = None
    ) -> Response:
        """Send a request."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of requests, and the key for it. `own`: it is OpenAI, or a stand-in for it."""

    base_url: str | None
    key: str
    headers: Mapping[str, str]
    own: bool


@dataclass(frozen=True, slots=True)
class Call:
    """One request to send."""

    path: str
    body: Json
    service: Service
    limits: Limits
    headers: Mapping[str, str]


class Sender:
    """Sends the requests of one model, over one connection if they follow each other."""

    def __init__(self) -> None:
        self._clients: Clients[Sdk] = Clients()

    def __deepcopy__(self, memo: dict[int, object]) -> Sender:
        return Sender()

    async def whole(self, endpoint: Endpoint, call: Call) -> bytes:
        """The body of the answer."""
        response = await self._send(endpoint, call, stream=False)
        return response.content

    @asynccontextmanager
    async def streamed(self, endpoint: Endpoint, call: Call) -> AsyncIterator[AsyncGenerator[Json, None]]:
        """The events of the answer. On leaving, its connection is given back or closed."""
        response = await self._send(endpoint, call, stream=True)
        try:
            async with aclosing(response.aiter_bytes()) as body, aclosing(events(body, call.service)) as objects:
                yield objects
        except Exception as error:
            failed = call.service.error_of(error)
            if isinstance(error, NewelError) or failed.code != UNREACHABLE:
                raise
            raise call.service.cut_short(str(error)) from error
        finally:
            await response.aclose()

    async def sdk(self, endpoint: Endpoint, service: Service, limits: Limits) -> Sdk:
        """The client of the running event loop."""
        client = await self._clients.client(lambda: connect(endpoint, service, limits), limits.response_bytes)
        return client.sdk

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._clients.aclose()

    async def _send(self, endpoint: Endpoint, call: Call, *, stream: bool) -> Response:
        sdk = await self.sdk(endpoint, call.service, call.limits)
        library = http_library()
        options: Json = {"timeout": call.limits.timeout(library), "headers": dict(call.headers)}
        kind: type = import_module(library).Response
        return await sdk.post(call.path, cast_to=kind, body=call.body, options=options, stream=stream)


def connect(endpoint: Endpoint, service: Service, limits: Limits) -> tuple[Sdk, Any, Service]:
    """A client of the SDK, the HTTP client beneath it, and the service that both stand for."""
    openai = import_module("openai")
    http = http_client(http_library(), service, limits)
    # The environment's headers are for OpenAI only.
    omitted = {} if endpoint.own else dict.fromkeys(environment_headers(CUSTOM_HEADERS), openai.Omit())
    sdk: Sdk = openai.AsyncOpenAI(
        api_key=endpoint.key,
        base_url=endpoint.base_url,
        http_client=http,
        max_retries=0,
        default_headers={**omitted, **endpoint.headers},
        websocket_base_url=_socket_url(endpoint.base_url),
    )
    if not endpoint.own:
        sdk.organization = sdk.project = None
    return sdk, http, service


def _socket_url(base_url: str | None) -> str | None:
    """The address of live connections; without it, older releases of the SDK insist on TLS."""
    return re.sub(r"^http", "ws", base_url, count=1) if base_url is not None else None


def http_library() -> str:
    """The HTTP library beneath the installed release of the SDK."""
    major = str(import_module("openai").__version__).partition(".")[0]
    return "httpx" if major in ("1", "2") else "httpx2"


def check_sdk(model: str) -> None:
    """Raise a ModelError that names the remedy if the SDK is missing."""
    if find_spec("openai") is None:
        raise ModelError(
            f"the model {model!r} needs the openai SDK, which is not installed:\npip install 'newel[openai]'"
        )
