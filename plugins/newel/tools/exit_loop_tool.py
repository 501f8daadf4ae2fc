"""The tool with which a model ends the loop that it runs in."""

from __future__ import annotations

from newel_kernel import ToolContext


def exit_loop(tool_context: ToolContext) -> None:
    """End the loop. Call this only when your instructions say that the loop is to end."""
    tool_context.actions.escalate = True
    tool_context.actions.skip_summarization = True
