"""BaseLlmFlow: the reason-act loop of an agent with processors of its own choice."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import TYPE_CHECKING

from newel import live
from newel.auth.answers import TOOLSET as TOOLSET_AUTH_CREDENTIAL_ID_PREFIX
from newel.contexts.invocation_context import full_invocation
from newel.flows.llm_flows._base_llm_processor import BaseLlmRequestProcessor, BaseLlmResponseProcessor
from newel.flows.llm_flows._composed import ComposedRequestProcessor, ComposedResponseProcessor
from newel_kernel import (
    ConfigurationError,
    Event,
    RequestProcessor,
    ResponseProcessor,
    did_you_mean,
    reason_and_act,
)

if TYPE_CHECKING:
    from newel.contexts.invocation_context import InvocationContext
    from newel_kernel import Chains

__all__ = ["TOOLSET_AUTH_CREDENTIAL_ID_PREFIX", "BaseLlmFlow"]


class BaseLlmFlow:
    """The steps of an LLM agent, with the processors of the two lists around its model.

    An agent of your own runs one in place of the composed chains, `flow.run_async(ctx)` in its `_run_async_impl`, and
    `flow.run_live(ctx)` in its `_run_live_impl`.
    The lists begin empty; edit them before a run.
    """

    def __init__(self) -> None:
        self.request_processors: list[BaseLlmRequestProcessor] = []
        self.response_processors: list[BaseLlmResponseProcessor] = []
        #: The composition of the last run, and its chains with the lists.
        self._chains: list[tuple[Chains, Chains]] = []

    def run_async(self, invocation_context: InvocationContext) -> AsyncGenerator[Event, None]:
        """The events of the running agent, as the composed chains would give them, except for the processors."""
        return reason_and_act(self._flowing(full_invocation(invocation_context)))

    def run_live(self, invocation_context: InvocationContext) -> AsyncGenerator[Event, None]:
        """The events of the running agent over a live connection; its request is prepared by the processors.

        Raises ConfigurationError in a run that has no live queue.
        """
        ctx = full_invocation(invocation_context)
        if ctx.live_request_queue is None:
            raise ConfigurationError("this run is not live: call Runner.run_live, or the flow's run_async")
        return live.converse(self._flowing(ctx))

    def get_request_processor(self, name: str) -> BaseLlmRequestProcessor | None:
        """The request processor of that name."""
        return next((one for one in self.request_processors if _name(one) == name), None)

    def insert_request_processor_before(self, name: str, processor: BaseLlmRequestProcessor) -> None:
        """Put `processor` before the one of that name."""
        self.request_processors.insert(self._place(name), processor)

    def insert_request_processor_after(self, name: str, processor: BaseLlmRequestProcessor) -> None:
        """Put `processor` after the one of that name."""
        self.request_processors.insert(self._place(name) + 1, processor)

    def replace_request_processor(self, name: str, processor: BaseLlmRequestProcessor) -> None:
        """Put `processor` in place of the one of that name."""
        self.request_processors[self._place(name)] = processor

    def remove_request_processor(self, name: str) -> None:
        """Leave out the one of that name."""
        del self.request_processors[self._place(name)]

    def _place(self, name: str) -> int:
        names = [_name(one) for one in self.request_processors]
        if name not in names:
            raise ConfigurationError(f"the flow has no request processor {name!r}{did_you_mean(name, names)}")
        return names.index(name)

    def _flowing(self, ctx: InvocationContext) -> InvocationContext:
        """`ctx` with this flow's chains."""
        chains = self._composed(ctx.composition, ctx.app)
        return ctx if chains is ctx.composition else ctx.model_copy(update={"composition": chains})

    def _composed(self, composition: Chains, app: object) -> Chains:
        """`composition` with this flow's chains; made again only after an edit of the lists."""
        requests = tuple(_request_step(one, composition) for one in self.request_processors)
        responses = tuple(_response_step(one, composition) for one in self.response_processors)
        if (requests, responses) == (composition.request_chain, composition.response_chain):
            return composition
        for made_of, chains in self._chains:
            if made_of is composition and (chains.request_chain, chains.response_chain) == (requests, responses):
                return chains
        chains = replace(composition, request_chain=requests, response_chain=responses).for_app(app)
        self._chains = [(composition, chains)]
        return chains


def _name(processor: BaseLlmRequestProcessor) -> str:
    return processor.name or type(processor).__name__


def _request_step(processor: BaseLlmRequestProcessor, chains: Chains) -> RequestProcessor:
    if isinstance(processor, ComposedRequestProcessor):
        return processor.of(chains)
    return processor.describe(RequestProcessor)


def _response_step(processor: BaseLlmResponseProcessor, chains: Chains) -> ResponseProcessor:
    if isinstance(processor, ComposedResponseProcessor):
        return processor.of(chains)
    return processor.describe(ResponseProcessor)
