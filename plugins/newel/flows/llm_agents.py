"""LLM agents' steps: processors that know whose chain they are in. Only LLM agents ask a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from newel.contexts.invocation_context import InvocationContext
from newel_kernel import (
    Event,
    Json,
    LlmRequest,
    LlmResponse,
    RequestProcessor,
    ResponseProcessor,
    ToolPreparation,
)

if TYPE_CHECKING:
    from newel.agents.llm_agent import LlmAgent
    from newel.agents.opening import Opening

    Events: TypeAlias = Awaitable[Sequence[Event] | None]


class LlmContext(InvocationContext):
    """An invocation as an LLM agent sees it. It is for annotations: no object is one."""

    agent: LlmAgent
    opening: Opening | None


if TYPE_CHECKING:
    RequestStep: TypeAlias = Callable[[LlmContext, LlmRequest], Events | None]
    ResponseStep: TypeAlias = Callable[[LlmContext, LlmRequest, LlmResponse], Events | None]


def request_processor(
    name: str,
    run: RequestStep,
    *,
    applies_to: Callable[[LlmAgent], bool] | None = None,
    for_agent: Callable[[LlmAgent], RequestStep] | None = None,
    on_continuation: bool = False,
) -> RequestProcessor:
    """A request processor of LLM agents."""
    steps: Json = {"run": run, "applies_to": applies_to, "for_agent": for_agent}  # the kernel knows no LLM agent
    return RequestProcessor(name=name, on_continuation=on_continuation, **steps)


@cache
def agent_processor(
    name: str, for_agent: Callable[[LlmAgent], RequestStep], *, applies_to: Callable[[LlmAgent], bool] | None = None
) -> RequestProcessor:
    """A request processor of LLM agents whose step is made once for an agent, from the values of its fields."""

    def run(ctx: LlmContext, request: LlmRequest) -> Events | None:
        return for_agent(ctx.agent)(ctx, request)

    return request_processor(name, run, applies_to=applies_to, for_agent=for_agent)


def response_processor(
    name: str, run: ResponseStep, *, applies_to: Callable[[LlmAgent], bool] | None = None
) -> ResponseProcessor:
    """A response processor of LLM agents."""
    steps: Json = {"run": run, "applies_to": applies_to}
    return ResponseProcessor(name=name, **steps)


def tool_preparation(
    name: str, run: RequestStep, *, applies_to: Callable[[LlmAgent], bool] | None = None
) -> ToolPreparation:
    """A tool preparation of LLM agents."""
    steps: Json = {"run": run, "applies_to": applies_to}
    return ToolPreparation(name=name, **steps)
