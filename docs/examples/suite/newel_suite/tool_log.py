"""tool_log: a line for each tool call: who called what, how it ended, how long it took.

The line leaves out the arguments: they may be secret.
"""

from __future__ import annotations

import logging
import time

from newel_kernel import BaseTool, Context, Json, ToolCall, ToolPolicy, hookimpl

_log = logging.getLogger("newel_suite.tools")


def wrap(call: ToolCall) -> ToolCall:
    """Stand around every call."""

    async def logged(tool: BaseTool, args: Json, context: Context) -> object:
        start, how = time.perf_counter(), "failed"
        try:
            result = await call(tool, args, context)
            how = "gave an error" if isinstance(result, dict) and "error" in result else "done"
            return result
        finally:
            _log.info("%s: %s %s, %.0f ms", context.agent_name, tool.name, how, (time.perf_counter() - start) * 1000)

    return logged


@hookimpl
def register_tool_policies() -> list[ToolPolicy]:
    """The policy `tool_log`, right inside the policy that shortens results."""
    return [ToolPolicy(name="tool_log", wrap=wrap, after=("tool_results?", "malformed_calls?"))]
