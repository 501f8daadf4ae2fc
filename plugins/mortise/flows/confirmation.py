"""confirmation: approval of tool calls. This version refuses, clearly, where one is asked for."""

from __future__ import annotations

from operator import attrgetter

from mortise_kernel import Event, InvocationContext, LlmRequest, RequestProcessor, ResultProcessor, hookimpl
from mortise_kernel.errors import FeatureUnavailableError


async def before(ctx: InvocationContext, request: LlmRequest) -> None:
    """Nothing to take up: no approval can have been asked for."""


async def after(ctx: InvocationContext, call_event: Event, result_event: Event) -> None:
    """Refuse a tool's request for approval; without an answer the run would hang."""
    actions = result_event.touched_actions
    if actions is not None and actions.requested_tool_confirmations:
        raise FeatureUnavailableError(
            "a tool asked for the user's approval, and this version of mortise cannot ask for it yet; "
            "remove require_confirmation"
        )


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The request processor `confirmation`."""
    return [RequestProcessor(name="confirmation", run=before, applies_to=lambda agent: False)]


@hookimpl
def register_result_processors() -> list[ResultProcessor]:
    """The result processor `confirmation`, before the results."""
    return [ResultProcessor(name="confirmation", run=after, applies_to=attrgetter("touched_actions"))]
