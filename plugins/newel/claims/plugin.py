"""The plugin of claims: its settings, the gate that lets one run at a time into a session, and the policy that
confirms a lease before an effect."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any

from pydantic import BaseModel

from newel.claims.gate import gate
from newel.claims.leasing import LEASES, is_leasing
from newel.claims.settings import Settings
from newel_kernel import BaseTool, Context, Effect, Json, SessionGate, ToolCall, ToolPolicy, hookimpl


def confirming(call_tool: ToolCall) -> ToolCall:
    """A call that has an effect runs only while its run still holds the session: a worker may have slept meanwhile."""

    def confirmed(tool: BaseTool, args: Json, context: Context) -> Awaitable[Any]:
        ctx = context.get_invocation_context()
        store = ctx.session_service
        if not LEASES[type(store)] or not is_leasing(store) or tool.effect == Effect.PURE:  # twice: for its type
            return call_tool(tool, args, context)
        if (confirmation := store.confirm(ctx.session)) is None:
            return call_tool(tool, args, context)
        return _after(confirmation, call_tool, tool, args, context)

    return confirmed


async def _after(
    confirmation: Awaitable[None], call_tool: ToolCall, tool: BaseTool, args: Json, context: Context
) -> object:
    await confirmation
    return await call_tool(tool, args, context)


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_session_gates(settings: Mapping[str, Any]) -> list[SessionGate]:
    """The session gate `claims`."""
    return [gate(settings["claims"])]


@hookimpl
def register_tool_policies() -> list[ToolPolicy]:
    """The policy `claims`, innermost in the distributions: the policies before it may take long."""
    return [ToolPolicy(name="claims", wrap=confirming)]
