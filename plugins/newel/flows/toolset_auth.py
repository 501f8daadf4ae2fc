"""toolset_auth: toolsets get their credentials before they list their tools; without, the user is asked first."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from types import FunctionType

from newel import auth
from newel.flows.llm_agents import LlmContext, tool_preparation
from newel_kernel import (
    BaseToolset,
    Event,
    LlmRequest,
    RequestProcessor,
    hookimpl,
)


def run(ctx: LlmContext, request: LlmRequest) -> Awaitable[Sequence[Event] | None] | None:
    """Get the credentials that the agent's toolsets need, or ask for them and end the invocation."""
    for entry in ctx.agent.tools:  # at each request: the list may grow in place
        if type(entry) is FunctionType or not isinstance(entry, BaseToolset):
            continue
        if hasattr(entry, "__newel_prepare__") or entry.get_auth_config():
            return auth.resolve_toolsets(ctx)
    return None


@hookimpl
def register_tool_preparations() -> list[RequestProcessor]:
    """What runs after the chain: `toolset_auth`."""
    return [tool_preparation("toolset_auth", run)]
