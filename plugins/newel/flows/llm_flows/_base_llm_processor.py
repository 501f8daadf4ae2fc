"""The classes of processors: an instance takes part wherever a plugin registers a processor."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from newel.contexts.invocation_context import full_invocation
from newel_kernel import (
    Event,
    HookSignatureError,
    Json,
    LlmRequest,
    LlmResponse,
    RequestProcessor,
    ResponseProcessor,
    Stage,
)

if TYPE_CHECKING:
    from newel.contexts.invocation_context import InvocationContext
    from newel_kernel import InvocationContext as KernelInvocationContext


class _Processor(ABC):  # noqa: B024 - what there is to implement differs
    #: Its name in the chain; by default that of the class.
    name: str = ""
    #: The processors that it follows, and those that it precedes, unless the distribution's chain has its place.
    after: tuple[str, ...] = ()
    before: tuple[str, ...] = ()

    def _stage(self) -> Json:
        """The fields of its descriptor that do not depend on the chain."""
        if inspect.iscoroutinefunction(getattr(self, "run_async", None)):
            raise HookSignatureError(
                f"{type(self).__name__}.run_async is a coroutine function; it has to be an async generator: "
                f"`yield` its events, or write `return` and an unreachable `yield` if it has none"
            )
        return {"name": self.name or type(self).__name__, "after": self.after, "before": self.before}


class BaseLlmRequestProcessor(_Processor):
    """Edits each request before the model gets it. Its events are committed once it has run to its end."""

    @abstractmethod
    def run_async(self, invocation_context: InvocationContext, llm_request: LlmRequest) -> AsyncGenerator[Event, None]:
        """Edit `llm_request` in place; an async generator of the events to commit before the model is asked."""

    async def _run(self, ctx: KernelInvocationContext, request: LlmRequest) -> list[Event]:
        async with aclosing(self.run_async(full_invocation(ctx), request)) as events:
            return [event async for event in events]

    def describe(self, kind: type[Stage]) -> RequestProcessor:
        """The descriptor with which it takes part in a chain, or among the preparations of tools."""
        descriptor = kind if issubclass(kind, RequestProcessor) else RequestProcessor
        return descriptor(**self._stage(), run=self._run)


class BaseLlmResponseProcessor(_Processor):
    """Edits each response of the model. Its events are committed before the response."""

    @abstractmethod
    def run_async(
        self, invocation_context: InvocationContext, llm_response: LlmResponse
    ) -> AsyncGenerator[Event, None]:
        """Edit `llm_response` in place; an async generator of the events to commit before it."""

    async def _run(self, ctx: KernelInvocationContext, request: LlmRequest, response: LlmResponse) -> list[Event]:
        async with aclosing(self.run_async(full_invocation(ctx), response)) as events:
            return [event async for event in events]

    def describe(self, kind: type[Stage]) -> ResponseProcessor:
        """The descriptor with which it takes part in a chain."""
        return ResponseProcessor(**self._stage(), run=self._run)
