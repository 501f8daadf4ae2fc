"""tool_timeout: a tool call that takes too long is an error result."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Annotated

from pydantic import BaseModel, Field

from newel.connections.deadlines import Deadline, DeadlineError
from newel.policies.time_limits import out_of_time
from newel_kernel import BaseTool, Context, Json, ToolCall, ToolPolicy, hookimpl

_SETTING = "settings: tool_timeout.seconds"
Seconds = Annotated[float, Field(ge=0)]


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of the timeout."""

    #: Seconds that a call may take; 0: no limit. A tool's own `timeout`, in seconds, replaces it.
    seconds: Seconds = 0.0
    #: Seconds by tool name, which replace both (0: no limit).
    tools: dict[str, Seconds] = {}


def _limit(tool: BaseTool, settings: Settings) -> tuple[float, str]:
    """The seconds that a call of `tool` may take, and where the limit is set."""
    if settings.tools and (seconds := settings.tools.get(tool.name)) is not None:
        return seconds, "settings: tool_timeout.tools"
    own = getattr(tool, "timeout", None)  # a tool may mean something else by the name
    return (own, "the tool's timeout") if isinstance(own, (int, float)) else (settings.seconds, _SETTING)


async def _within(
    seconds: float, where: str, call_tool: ToolCall, tool: BaseTool, args: Json, context: Context
) -> object:
    deadline = Deadline(seconds)
    try:
        with deadline:
            return await call_tool(tool, args, context)
    except DeadlineError:
        return out_of_time(tool.name, seconds, where)
    finally:
        deadline.close()


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_tool_policies(settings: Mapping[str, Settings]) -> list[ToolPolicy]:
    """The policy `tool_timeout`."""
    options: Settings = settings["tool_timeout"]

    def wrap(call_tool: ToolCall) -> ToolCall:
        def bounded(tool: BaseTool, args: Json, context: Context) -> Awaitable[object]:
            seconds, where = _limit(tool, options)
            if seconds <= 0:
                return call_tool(tool, args, context)
            return _within(seconds, where, call_tool, tool, args, context)

        return bounded

    return [ToolPolicy(name="tool_timeout", wrap=wrap)]
