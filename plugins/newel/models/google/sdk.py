"""The parts of the google-genai SDK that are used here, as protocols: the SDK itself loads at the first call."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Protocol, TypeAlias

#: A JSON object, as the service takes or sends it.
Json: TypeAlias = dict[str, Any]


class Answer(Protocol):
    """A pydantic model of the SDK: a response, a chunk or an event."""

    def model_dump(self, **options: object) -> Json:
        """Like pydantic's."""


class Models(Protocol):
    """``client.aio.models``."""

    async def generate_content(self, **arguments: object) -> Answer:
        """One request, one response."""

    async def generate_content_stream(self, **arguments: object) -> AsyncIterator[Answer]:
        """One request, its response in chunks."""


class Interactions(Protocol):
    """``client.aio.interactions``."""

    async def create(self, **arguments: object) -> Answer:
        """One interaction; with ``stream=True`` an iterator of its events."""


class Cache(Protocol):
    """A context cache at the service."""

    name: str | None
    expire_time: datetime | None


class Caches(Protocol):
    """``client.aio.caches``."""

    async def create(self, *, model: str | None, config: Json) -> Cache:
        """Make a cache."""

    async def delete(self, *, name: str) -> object:
        """Delete a cache."""


class LiveSession(Protocol):
    """A live session that is set up."""

    session_id: str | None


class Live(Protocol):
    """``client.aio.live``."""

    def connect(self, *, model: str, config: Json) -> AbstractAsyncContextManager[LiveSession]:
        """Open a session, and close it on leaving."""


class AsyncSdk(Protocol):
    """``client.aio``."""

    live: Live

    models: Models
    interactions: Interactions
    caches: Caches


class Sdk(Protocol):
    """A client of the SDK."""

    vertexai: bool
    aio: AsyncSdk


class HttpResponse(Protocol):
    """A response of the HTTP library beneath the SDK."""

    async def aclose(self) -> None:
        """Give the connection back, or close it if the body was not read to its end."""


class HttpClient(Protocol):
    """The asynchronous client of the HTTP library beneath the SDK."""

    async def aclose(self) -> None:
        """Close its connections."""
