"""Call: one request through LiteLLM, its answer whole or in chunks, and its failure."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar

from newel.models.litellm.assembly import LiteAssembly
from newel.models.litellm.exchange import Exchange
from newel.models.litellm.library import Library
from newel.models.litellm.plain_chunks import plain_text
from newel.models.litellm.routes import Route
from newel.models.openai.reading import objects
from newel.models.wire.service import Service, chain_of, message_of
from newel_kernel import Json, LlmResponse, ModelError

T = TypeVar("T")
#: The method that LiteLLM's stream calls when it is garbage-collected.
_RESTORE = "_restore_consumer_correlation_context"


@dataclass(frozen=True, slots=True)
class LiteCall:
    """One request."""

    litellm: Library
    arguments: Json
    assembly: LiteAssembly
    service: Service
    route: Route
    #: What was seen on the wire; None: the wire is not watched.
    exchange: Exchange | None

    async def whole(self) -> AsyncGenerator[LlmResponse, None]:
        """The one response."""
        answer = await self._watched(self.litellm.acompletion(**self.arguments))
        self._end()
        yield self.assembly.finished(self.assembly.complete(self._plain(answer)))

    async def streamed(self) -> AsyncGenerator[LlmResponse, None]:
        """The partial response of each chunk, then the whole response."""
        arguments = {**self.arguments, "stream": True, "stream_options": {"include_usage": True}}
        chunks: Any = await self._watched(self.litellm.acompletion(**arguments))
        feed, feed_text = self.assembly.feed, self.assembly.feed_text
        try:
            async with aclosing(self._steps(chunks)) as steps:
                async for chunk in steps:
                    text = plain_text(chunk)
                    partial = feed(self._plain(chunk)) if text is None else feed_text(text, chunk.model)
                    if partial is not None:
                        yield partial
            if self.exchange is not None:
                await self.exchange.drain()
        finally:
            try:
                await _close(chunks)
            finally:
                if self.exchange is not None:
                    await self.exchange.close()
        if self.exchange is not None and not self.exchange.ended:
            raise self.service.cut_short("the stream ended without its end marker")
        self._end()
        rest, whole = self.assembly.close()
        if rest is not None:
            yield rest
        yield self.assembly.finished(whole)

    async def _steps(self, chunks: Any) -> AsyncGenerator[Any, None]:
        """The chunks. The first may bring the HTTP response, which is then watched; the others come from that."""
        steps = aiter(chunks)
        first = await self._watched(anext(steps, None))
        if first is not None:
            yield first
            async for chunk in steps:
                yield chunk

    async def _watched(self, step: Awaitable[T]) -> T:
        if self.exchange is None:
            return await step
        with self.exchange.watching():
            return await step

    def _end(self) -> None:
        if self.exchange is not None:
            word = self.exchange.finish_reason
            self.assembly.end(word, self.route.words.get(word or ""))
            if self.exchange.refused:
                self.assembly.refuse()

    def _plain(self, answer: Any) -> Json:
        """An answer or a chunk as JSON, with the fields that LiteLLM put elsewhere, and without its guessed count."""
        result: Json = answer.model_dump(exclude_none=True)
        for choice in objects(result.get("choices")):
            message = choice.get("message") or choice.get("delta")
            if not isinstance(message, dict):
                continue
            more = message.get("provider_specific_fields")
            if isinstance(more, dict):
                self.assembly.cite(more.get("citations") or [more.get("citation")])
                if more.get("refusal"):
                    message["refusal"] = more["refusal"]
        usage = result.get("usage")
        if isinstance(usage, dict) and not _counted(usage, self.exchange):
            del result["usage"]
            usage = None
        details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
        if isinstance(details, dict) and self.exchange is not None and not self.exchange.counts_thoughts:
            details.pop("reasoning_tokens", None)
        return result


def _counted(usage: Json, exchange: Exchange | None) -> bool:
    """Whether the service counted the tokens: LiteLLM puts zeros or a guess where it did not."""
    if exchange is not None:
        return exchange.counts
    return any(usage.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens"))


async def _close(chunks: Any) -> None:
    """Close LiteLLM's stream, and the stream that it wraps."""
    try:
        for one in (chunks, getattr(chunks, "completion_stream", None)):
            close = getattr(one, "aclose", None) or getattr(one, "close", None)
            if close is not None:
                await close()
    finally:
        # Otherwise it sets context variables when it is collected; if that happens while one is being set, Python 3.11
        # crashes (https://github.com/python/cpython/issues/148891).
        if hasattr(chunks, _RESTORE):
            setattr(chunks, _RESTORE, _no_restore)


def _no_restore(*, guarded: bool = False) -> None:
    """Do nothing about the consumer's variables when a closed stream is collected."""


def failure_of(error: Exception, service: Service, exchange: Exchange | None) -> ModelError:
    """The failure, as the wire showed it if that was watched: LiteLLM makes up a status if there is none."""
    if exchange is None:
        return service.error_of(error)
    if exchange.status is not None and exchange.status >= 300:
        return service.refused(exchange.status, exchange.message, exchange.headers)
    chain = list(chain_of(error))
    ours = next((one for one in chain if isinstance(one, ModelError)), None)
    if ours is not None:
        return ours
    # LiteLLM's own errors always have a status, and so have those of the SDKs that it copies from.
    real = [one for one in chain if not isinstance(getattr(one, "status_code", None), int)]
    if real:
        failure = service.error_of(real[0])
        if failure.code != "MALFORMED_RESPONSE" or any(isinstance(one, ValueError) for one in real):
            return failure
    if exchange.status is None:
        return service.unreachable(str(error))
    return service.failed(type(error).__name__, message_of(error), retryable=exchange.finish_reason is None)
