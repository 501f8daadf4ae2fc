"""toolset_auth: toolsets get their credentials before they list their tools; without, the user is asked first."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING

from newel import auth
from newel.flows.llm_agents import LlmContext, tool_preparation
from newel_kernel import (
    BaseToolset,
    Event,
    LlmRequest,
    RequestProcessor,
    hookimpl,
)

if TYPE_CHECKING:
    from newel.agents.llm_agent import LlmAgent


def run(ctx: LlmContext, request: LlmRequest) -> Awaitable[Sequence[Event] | None] | None:
    """Get the credentials that the agent's toolsets need, or ask for them and end the invocation."""
    for entry in ctx.agent.tools:
        if not isinstance(entry, BaseToolset):
            continue
        if hasattr(entry, "__newel_prepare__") or entry.get_auth_config():
            return auth.resolve_toolsets(ctx)
    return None


def applies_to(agent: LlmAgent) -> bool:
    """Whether the agent has toolsets."""
    return any(isinstance(entry, BaseToolset) for entry in agent.tools)


@hookimpl
def register_tool_preparations() -> list[RequestProcessor]:
    """What runs after the chain: `toolset_auth`."""
    return [tool_preparation("toolset_auth", run, applies_to=applies_to)]
