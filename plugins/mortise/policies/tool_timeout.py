"""tool_timeout: a tool call that takes too long is an error result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, Field

from mortise_kernel import BaseTool, Context, ToolPolicy, hookimpl


class Settings(BaseModel, extra="forbid"):
    """Settings of the time-out."""

    #: Seconds that a call may take; 0: no limit.
    seconds: float = Field(default=5.0, ge=0)
    #: Seconds by tool name, for those that need more (0: no limit).
    tools: dict[str, float] = Field(default_factory=dict)


@hookimpl
def register_settings() -> type[BaseModel]:
    """The settings."""
    return Settings


@hookimpl
def register_tool_policies(settings: Mapping[str, Any]) -> list[ToolPolicy]:
    """The policy `tool_timeout`."""
    chosen: Settings = settings["tool_timeout"]

    def wrap(call_tool: Callable[..., Any]) -> Callable[..., Any]:
        async def bounded(tool: BaseTool, args: dict[str, Any], context: Context) -> Any:
            own = getattr(tool, "timeout", None)
            seconds = chosen.tools.get(tool.name, chosen.seconds if own is None else own)
            if not seconds:
                return await call_tool(tool, args, context)
            try:
                async with asyncio.timeout(seconds) as limit:
                    return await call_tool(tool, args, context)
            except TimeoutError:
                if not limit.expired():  # the tool's own
                    raise
                return {
                    "error": f"the tool {tool.name} did not answer within {seconds:g} s (settings: tool_timeout.seconds)"
                }

        return bounded

    return [ToolPolicy(name="tool_timeout", wrap=wrap)]
