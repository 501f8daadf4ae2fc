"""tool_errors: a tool that raises is an error result for the model, not the end of the run."""

from __future__ import annotations

from newel.policies.plain_data import text_of
from newel_kernel import BaseTool, Context, Json, UnknownTool, hookimpl

MOST_CHARACTERS = 2_000


@hookimpl(trylast=True)
def on_tool_error_callback(
    tool: BaseTool, tool_args: Json, tool_context: Context, error: Exception
) -> Json | None:
    """The error as a result, where nobody else has dealt with it (an unknown tool is `unknown_tools`' matter)."""
    if isinstance(tool, UnknownTool):
        return None
    return {"error": f"{type(error).__name__}: {message_of(error)}"}


def message_of(error: Exception) -> str:
    """At most MOST_CHARACTERS of an error's message, fit to be stored and sent."""
    text = text_of(error)
    left_out = len(text) - MOST_CHARACTERS
    return text if left_out <= 0 else f"{text[:MOST_CHARACTERS]}… ({left_out} more characters)"
