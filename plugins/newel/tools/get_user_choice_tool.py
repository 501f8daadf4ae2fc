"""The tool with which a model lets the user choose; the choice comes as the call's later result."""

from __future__ import annotations

from newel.tools.long_running_tool import LongRunningFunctionTool
from newel_kernel import ToolContext


def get_user_choice(options: list[str], tool_context: ToolContext) -> str | None:
    """Show the options to the user and ask which one to take."""
    tool_context.actions.skip_summarization = True
    return None


get_user_choice_tool = LongRunningFunctionTool(func=get_user_choice)
