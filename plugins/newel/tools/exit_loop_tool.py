"""The tools with which a model ends the loop that it runs in, or one further out."""

from __future__ import annotations

from newel.tools.function_tool import FunctionTool
from newel_kernel import ToolContext


def exit_loop(tool_context: ToolContext) -> None:
    """End the loop. Call this only when your instructions say that the loop is to end."""
    tool_context.actions.escalate = True
    tool_context.actions.skip_summarization = True


class ExitLoopTool(FunctionTool):
    """The tool ``exit_<loop>``: it ends the LoopAgent of that name, and everything that runs in it.

    For a loop that is not the innermost one around the agent. Code does the same with `actions.escalate` and the name
    of the loop as `actions.route`.
    """

    def __init__(self, loop: str) -> None:
        def leave(tool_context: ToolContext) -> None:
            exit_loop(tool_context)
            tool_context.actions.route = loop

        leave.__name__ = f"exit_{loop}"
        leave.__doc__ = f"End the loop {loop!r}. Call this only when your instructions say that it is to end."
        super().__init__(leave)
