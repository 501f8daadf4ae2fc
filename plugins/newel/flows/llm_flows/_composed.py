"""Views of the processors that a composition has: what is run is the composed processor of that name."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, TypeVar

from newel.flows.llm_flows._base_llm_processor import BaseLlmRequestProcessor, BaseLlmResponseProcessor
from newel_kernel import (
    ConfigurationError,
    Event,
    LlmRequest,
    LlmResponse,
    RequestProcessor,
    ResponseProcessor,
    Stage,
    did_you_mean,
)

if TYPE_CHECKING:
    from newel.contexts.invocation_context import InvocationContext
    from newel_kernel import Chains

S = TypeVar("S", bound=Stage)


class ComposedRequestProcessor(BaseLlmRequestProcessor):
    """The request processor of this name, as the invocation's distribution composes it."""

    def __init__(self, name: str = "") -> None:
        self.name = name or self.name

    def of(self, chains: Chains) -> RequestProcessor:
        """The descriptor; raises ConfigurationError if the chain has none of the name."""
        return _step(self.name, chains.request_chain)

    async def run_async(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> AsyncGenerator[Event, None]:
        """Run it if it has anything to do for the agent and its app."""
        step, agent = self.of(invocation_context.composition), invocation_context.agent
        if not (step.serves is None or step.serves(invocation_context.app)) or _idle(step, invocation_context):
            return
        run = step.run if step.for_agent is None else step.for_agent(agent)
        reported = run(invocation_context, llm_request)
        for event in await reported or () if reported is not None else ():
            yield event


class ComposedResponseProcessor(BaseLlmResponseProcessor):
    """The response processor of this name, as the invocation's distribution composes it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def of(self, chains: Chains) -> ResponseProcessor:
        """The descriptor; raises ConfigurationError if the chain has none of the name."""
        return _step(self.name, chains.response_chain)

    async def run_async(
        self, invocation_context: InvocationContext, llm_response: LlmResponse
    ) -> AsyncGenerator[Event, None]:
        """Run it if it has anything to do for the agent; the request that it sees is an empty one."""
        step = self.of(invocation_context.composition)
        if _idle(step, invocation_context):
            return
        reported = step.run(invocation_context, LlmRequest(), llm_response)
        for event in await reported or () if reported is not None else ():
            yield event


def _idle(step: RequestProcessor | ResponseProcessor, ctx: InvocationContext) -> bool:
    return step.applies_to is not None and not step.applies_to(ctx.agent)


def _step(name: str, chain: Sequence[S]) -> S:
    for step in chain:
        if step.name == name:
            return step
    names = [step.name for step in chain]
    raise ConfigurationError(f"the distribution's chain has no processor {name!r}{did_you_mean(name, names)}")
