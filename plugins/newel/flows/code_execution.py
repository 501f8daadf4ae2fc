"""code_execution: runs the code that the model writes and shows it the output.

Specified in docs/reference/behaviour.md#code-execution.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from pydantic import BaseModel, PositiveFloat, PositiveInt

from newel import flows
from newel.code_executors.bounded_output import MAX_OUTPUT
from newel.flows.llm_agents import LlmContext, request_processor, response_processor
from newel_kernel import (
    Event,
    LlmRequest,
    LlmResponse,
    RequestProcessor,
    ResponseProcessor,
    hookimpl,
)

if TYPE_CHECKING:
    from newel.agents.llm_agent import LlmAgent


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of code execution."""

    #: Seconds after which an executor that has no timeout of its own is stopped; None: never.
    timeout_seconds: PositiveFloat | None = 300.0
    #: Characters of an execution's output that the model sees.
    max_output: PositiveInt = MAX_OUTPUT
    #: Run the tool calls of an answer that also holds code, after the code; otherwise they are left out.
    keep_calls: bool = False


def before(ctx: LlmContext, request: LlmRequest) -> Awaitable[list[Event] | None]:
    """See `code_steps.prepare_code`."""
    return flows.prepare_code(ctx, request, _limits(ctx))


def after(ctx: LlmContext, request: LlmRequest, response: LlmResponse) -> Awaitable[list[Event] | None]:
    """See `code_steps.run_code`."""
    return flows.run_code(ctx, response, _limits(ctx))


def _limits(ctx: LlmContext) -> Settings:
    return ctx.composition.settings_of("code_execution", Settings)


def applies_to(agent: LlmAgent) -> bool:
    """Only if the agent has an executor."""
    return agent.code_executor is not None


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The request processor `code_execution`."""
    return [request_processor("code_execution", before, applies_to=applies_to)]


@hookimpl
def register_response_processors() -> list[ResponseProcessor]:
    """The response processor `code_execution`."""
    return [response_processor("code_execution", after, applies_to=applies_to)]
