"""Exchange: what went over the wire beneath LiteLLM, which reports only a part of it.

It makes up statuses for lost connections, and a good end for a stream that has none.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Any

_current: ContextVar[Exchange | None] = ContextVar("litellm_exchange", default=None)
#: How many bytes of an answer are searched again with the next piece; no end marker is longer.
_TAIL = 512
_MOST = 20_000
#: How long to wait for the end of an answer after its end marker, in seconds.
_PATIENCE = 0.2
_REFUSAL = re.compile(rb'"refusal"\s*:\s*"[^"]')
#: A count of tokens in any protocol; a limit that the answer repeats is none.
_COUNT = re.compile(rb'"(?!max)\w*(?:tokens?|token_?count|eval_count)"\s*:\s*\d', re.IGNORECASE)
_THOUGHTS = re.compile(rb'"(?:reasoning|thinking)_tokens"')


@dataclass(slots=True)
class Exchange:
    """One request and its answer. `reason` finds the finish reason, `last` the end marker of a stream."""

    reason: re.Pattern[bytes]
    last: re.Pattern[bytes]
    #: Whether the end marker came.
    ended: bool = False
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: The finish reason in the service's own word.
    finish_reason: str | None = None
    #: Whether it counted tokens; LiteLLM guesses if it did not.
    counts: bool = False
    #: Whether it counted the tokens of thoughts.
    counts_thoughts: bool = False
    #: Whether it refused to answer; LiteLLM drops that from streams.
    refused: bool = False
    #: The beginning of the body of an error.
    body: bytes = b""
    #: The part of the answer that was not read yet.
    rest: AsyncIterator[bytes] | None = None
    #: The HTTP response; LiteLLM does not always close it.
    response: Any = None
    _tail: bytes = b""

    def note(self, chunk: bytes) -> None:
        """Look at a piece of the answer."""
        if self.status is not None and self.status >= 300:
            self.body = (self.body + chunk)[:_MOST]
            return
        window = self._tail + chunk
        for match in self.reason.finditer(window):
            self.finish_reason = match[1].decode("utf-8", "replace")
        self.counts = self.counts or _COUNT.search(window) is not None
        self.counts_thoughts = self.counts_thoughts or _THOUGHTS.search(window) is not None
        self.ended = self.ended or self.last.search(window) is not None
        self.refused = self.refused or _REFUSAL.search(window) is not None
        self._tail = window[-_TAIL:]

    async def drain(self) -> None:
        """Read on to the end marker: LiteLLM stops when it knows the finish reason."""
        while not self.ended and self.rest is not None:
            try:
                self.note(await anext(self.rest))
            except StopAsyncIteration:
                return

    async def finish(self) -> None:
        """Read what follows the end marker, so that the connection can be used again.

        An answer without the marker was abandoned. A service that does not end its answer is not waited for.
        """
        if self.ended and self.rest is not None:
            with suppress(Exception):  # the answer is whole, whatever becomes of its connection
                async with asyncio.timeout(_PATIENCE):
                    while True:
                        await anext(self.rest)

    async def close(self) -> None:
        """Close the response, if there is one."""
        if self.response is not None:
            await self.response.aclose()

    @property
    def message(self) -> str:
        """The message in the body of an error."""
        try:
            body: Any = json.loads(self.body)
        except ValueError:
            return self.body.decode("utf-8", "replace")
        while isinstance(body, dict):
            if isinstance(body.get("message"), str):
                return str(body["message"])
            body = body.get("error")
        return str(body or "")

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the requests that are sent meanwhile as this exchange. Never across a yield to the caller."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


async def note_response(response: Any) -> None:
    """A hook of httpx: show the answer to the running exchange."""
    exchange = _current.get()
    if exchange is not None:
        exchange.status, exchange.headers, exchange.response = response.status_code, response.headers, response
        library = type(response).__module__.partition(".")[0]
        response.stream = _watched(library)(response.stream, exchange)


@lru_cache(maxsize=2)
def _watched(library: str) -> Callable[[Any, Exchange], Any]:
    http = import_module(library)

    class Watched(http.AsyncByteStream):  # type: ignore[misc,name-defined]
        def __init__(self, inner: Any, exchange: Exchange) -> None:
            self._inner, self._exchange = inner, exchange

        async def __aiter__(self) -> AsyncIterator[bytes]:
            self._exchange.rest = rest = aiter(self._inner)
            async for chunk in rest:
                self._exchange.note(chunk)
                yield chunk

        async def aclose(self) -> None:
            try:
                await self._exchange.finish()
            finally:
                await self._inner.aclose()

    return Watched
