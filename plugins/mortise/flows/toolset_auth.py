"""toolset_auth: toolsets get their credentials before they list their tools; without, the user is asked first."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from mortise import auth
from mortise_kernel import BaseToolset, Event, InvocationContext, LlmRequest, RequestProcessor, hookimpl


def applies(agent: Any) -> bool:
    """Whether a toolset of the agent needs a credential."""
    for entry in agent.tools:
        if type(entry) is not FunctionType and isinstance(entry, BaseToolset) and entry.get_auth_config():
            return True
    return False


async def run(ctx: InvocationContext, request: LlmRequest) -> Sequence[Event] | None:
    """Get the credentials, or ask for them and end the invocation."""
    return await auth.resolve_toolsets(ctx)


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The request processor `toolset_auth`, after the specified chain."""
    return [RequestProcessor(name="toolset_auth", run=run, applies_to=applies)]
