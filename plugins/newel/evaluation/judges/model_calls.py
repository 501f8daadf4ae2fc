"""Calls of models that an evaluation makes itself: judges and simulated users."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from contextvars import ContextVar
from functools import cache
from typing import Any, Protocol

import newel_compose
import newel_types
from newel.budgets.composing import asked
from newel.models.contract import BaseLlm
from newel.models.kinds import model_of
from newel_kernel import BaseTool, Chains, LlmRequest, LlmResponse, ModelError
from newel_types import Content, GenerateContentConfig, Part


@cache
def retries() -> newel_types.HttpRetryOptions:
    """The retries that the released evaluation adds to the requests of agents and judges."""
    return newel_types.HttpRetryOptions(
        attempts=7, initial_delay=5.0, max_delay=120.0, exp_base=2.0, http_status_codes=[408, 429, 500, 502, 503, 504]
    )


Send = Callable[[LlmRequest], Awaitable[LlmResponse]]


class CallGate(Protocol):
    """Wraps every model call: limits, recordings, accounts."""

    async def call(self, role: str, model: str, request: LlmRequest, sample: int, send: Send) -> LlmResponse:
        """Return the answer, by `send` or otherwise."""
        ...


class AgentGate(Protocol):
    """The same for the calls that agents make; `key` tells concurrent calls of a turn apart."""

    async def before_model(self, key: str, request: LlmRequest) -> LlmResponse | None:
        """An answer instead of the model's, or None once the call may be made."""
        ...

    async def after_model(self, key: str, response: LlmResponse) -> None:
        """The call was answered."""
        ...

    async def model_failed(self, key: str, request: LlmRequest, error: Exception) -> LlmResponse | None:
        """The call failed; an answer after all, or None."""
        ...

    def before_tool(self, tool: BaseTool, args: Mapping[str, Any]) -> dict[str, Any] | None:
        """A result instead of the tool's, or None if it may run."""
        ...


#: Where a run finds its models; None: in the folder's distribution.
chains: ContextVar[Chains | None] = ContextVar("evaluation_chains", default=None)
#: The gates of the run that this task belongs to.
agent_gate: ContextVar[AgentGate | None] = ContextVar("evaluation_agent_gate", default=None)
gate: ContextVar[CallGate | None] = ContextVar("evaluation_gate", default=None)


def with_retries(config: GenerateContentConfig) -> GenerateContentConfig:
    """`config` with retries of transient failures; existing settings stay."""
    options = config.http_options
    if options is not None and options.retry_options is not None:
        return config
    new = options.model_copy(update={"retry_options": retries()}) if options is not None else None
    return config.model_copy(update={"http_options": new or newel_types.HttpOptions(retry_options=retries())})


async def ask(
    address: str,
    contents: list[Content],
    config: GenerateContentConfig | None = None,
    *,
    role: str = "judge",
    sample: int = 0,
) -> LlmResponse:
    """The complete answer of the model at `address`; a ModelError if it is a failure."""
    request = LlmRequest(model=address, contents=contents, config=with_retries(config or GenerateContentConfig()))
    around = gate.get()
    if around is None:
        return await send(request)
    return await around.call(role, address, request, sample, send)


async def send(request: LlmRequest) -> LlmResponse:
    """Ask the model that the request names."""
    address = request.model or ""
    model: BaseLlm = model_of(chains.get() or newel_compose.compose_once(), address)
    request.model = model.model
    last: LlmResponse | None = None
    async with aclosing(asked(model, request)) as answers:
        async for answer in answers:
            if not answer.partial:
                last = answer
    if last is None:
        raise ModelError(f"the model {address!r} gave no answer")
    if last.error_code:
        raise ModelError(f"the model {address!r} failed: {last.error_code}: {last.error_message or ''}")
    return last


def prompt(text: str) -> list[Content]:
    """One message of the user."""
    return [Content(role="user", parts=[Part(text=text)])]
