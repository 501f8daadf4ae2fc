"""unknown_tools: a call of a tool that does not exist is answered with the known names."""

from __future__ import annotations

from newel.policies.tool_errors import message_of
from newel_kernel import BaseTool, Context, Json, UnknownTool, hookimpl


@hookimpl(trylast=True)
def on_tool_error_callback(tool: BaseTool, tool_args: Json, tool_context: Context, error: Exception) -> Json | None:
    """The names of the tools as a result, so that the model can call the right one."""
    return {"error": message_of(error)} if isinstance(tool, UnknownTool) else None
