"""code_execution: runs the code that the model writes and tells it what came out (S0 §2.4, S3 §1)."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from pydantic import BaseModel, PositiveFloat, PositiveInt

from newel import flows
from newel.code_executors.bounded_output import MAX_OUTPUT
from newel_kernel import (
    Event,
    InvocationContext,
    LlmRequest,
    LlmResponse,
    RequestProcessor,
    ResponseProcessor,
    hookimpl,
)


class Settings(BaseModel, extra="forbid"):
    """Settings of code execution."""

    #: Seconds after which an executor that has no time-out of its own is given up; None: never.
    timeout_seconds: PositiveFloat | None = 300.0
    #: Characters of an execution's output that the model sees.
    max_output: PositiveInt = MAX_OUTPUT


def before(ctx: InvocationContext, request: LlmRequest) -> Awaitable[list[Event] | None]:
    """See `code_steps.prepare_code`."""
    return flows.prepare_code(ctx, request, _limits(ctx))


def after(ctx: InvocationContext, request: LlmRequest, response: LlmResponse) -> Awaitable[list[Event] | None]:
    """See `code_steps.run_code`."""
    return flows.run_code(ctx, response, _limits(ctx))


def _limits(ctx: InvocationContext) -> Settings:
    settings = ctx.composition.settings.get("code_execution")
    return settings if isinstance(settings, Settings) else Settings()


def applies_to(agent: Any) -> bool:
    """Only where the agent has an executor."""
    return agent.code_executor is not None


@hookimpl
def register_settings() -> type[BaseModel]:
    """The settings."""
    return Settings


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The request processor `code_execution`."""
    return [RequestProcessor(name="code_execution", run=before, applies_to=applies_to)]


@hookimpl
def register_response_processors() -> list[ResponseProcessor]:
    """The response processor `code_execution`."""
    return [ResponseProcessor(name="code_execution", run=after, applies_to=applies_to)]
