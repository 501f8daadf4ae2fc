"""code_execution: runs the code that the model writes."""

from __future__ import annotations

from typing import Any

from mortise_kernel import InvocationContext, LlmRequest, RequestProcessor, ResponseProcessor, hookimpl
from mortise_kernel.errors import FeatureUnavailableError


async def run(ctx: InvocationContext, request: LlmRequest, *_: Any) -> None:
    """Refuse where the app or the agent asks for it: it must not seem to work."""
    raise FeatureUnavailableError("this version of mortise has no code execution yet; remove the agent's code_executor")


def applies_to(agent: Any) -> bool:
    """Only where the agent has an executor."""
    return agent.code_executor is not None


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The processor `code_execution`."""
    return [RequestProcessor(name="code_execution", run=run, applies_to=applies_to)]


@hookimpl
def register_response_processors() -> list[ResponseProcessor]:
    """The response processor `code_execution`; the request processor refuses first."""
    return [ResponseProcessor(name="code_execution", run=run, applies_to=applies_to)]
