"""auth: credentials that tools ask for. This version refuses, clearly, where one is asked for."""

from __future__ import annotations

from operator import attrgetter

from mortise_kernel import Event, InvocationContext, LlmRequest, RequestProcessor, ResultProcessor, hookimpl
from mortise_kernel.errors import FeatureUnavailableError


async def before(ctx: InvocationContext, request: LlmRequest) -> None:
    """Nothing to take up: no credential can have been asked for."""


async def after(ctx: InvocationContext, call_event: Event, result_event: Event) -> None:
    """Refuse a tool's request for a credential; without an answer the run would hang."""
    actions = result_event.touched_actions
    if actions is not None and actions.requested_auth_configs:
        raise FeatureUnavailableError(
            "a tool asked for a credential, and this version of mortise cannot ask the user for one yet; "
            "give the tool its credential when you make it"
        )


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The request processor `auth`."""
    return [RequestProcessor(name="auth", run=before, applies_to=lambda agent: False)]


@hookimpl
def register_result_processors() -> list[ResultProcessor]:
    """The result processor `auth`, before the results."""
    return [ResultProcessor(name="auth", run=after, applies_to=attrgetter("touched_actions"))]
