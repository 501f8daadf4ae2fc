"""steering: reads what other processes have said in a shared store, before each model call.

What is said in this process needs no reading: the views of a session share its log.
"""

from __future__ import annotations

from collections.abc import Awaitable

from newel.claims.leasing import LEASES
from newel.sessions.contract import SessionStore
from newel_kernel import Event, InvocationContext, LlmRequest, RequestProcessor, hookimpl


def run(ctx: InvocationContext, request: LlmRequest) -> Awaitable[list[Event] | None] | None:
    """Refresh the session, if other processes can append to it."""
    return _refresh(ctx) if LEASES[type(ctx.session_service)] else None


async def _refresh(ctx: InvocationContext) -> None:
    service = ctx.session_service
    if isinstance(service, SessionStore):
        await service.refresh(ctx.session)


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The processor `steering`."""
    return [RequestProcessor(name="steering", run=run, before=("contents?",))]
