"""tool_errors: a tool that raises is an error result for the model, not the end of the run."""

from __future__ import annotations

import logging
import os

from newel.contexts.stash_keys import SECRETS
from newel.policies.plain_data import clean_text, text_of
from newel_compose import describe_error, place_of
from newel_kernel import BaseTool, Context, FencedError, Json, UnknownTool, hookimpl

MOST_CHARACTERS = 2_000
_log = logging.getLogger("newel.tools")


@hookimpl(trylast=True)
def on_tool_error_callback(tool: BaseTool, tool_args: Json, tool_context: Context, error: Exception) -> Json | None:
    """The error as a result, unless another hook has handled it (`unknown_tools` handles unknown tools).

    A run that has lost its session must end: nothing that it does counts any more.
    """
    if isinstance(tool, UnknownTool) or isinstance(error, FencedError):
        return None
    _log_error(tool, tool_context, error)
    return {"error": f"{type(error).__name__}: {message_of(error)}"}


def _log_error(tool: BaseTool, context: Context, error: Exception) -> None:
    """Log for the developer what the model gets, with the place; on stderr, if the program configures no logging."""
    ctx = context.get_invocation_context()
    secrets = ctx.stash.get(SECRETS, None)
    masked = error if secrets is None else secrets.mask_error(error)
    what = (
        describe_error(masked) if masked is error else f"{type(masked).__name__}: {message_of(masked)}{place_of(error)}"
    )
    with_traceback = os.environ.get("NEWEL_DEBUG", "") not in ("", "0") and masked is error
    _log.warning(
        "newel: the tool %r of the agent %r failed, and the model gets this error: %s",
        tool.name,
        ctx.agent.name,
        clean_text(what)[:MOST_CHARACTERS],
        exc_info=error if with_traceback else None,
    )


def message_of(error: Exception) -> str:
    """At most MOST_CHARACTERS of an error's message, fit to be stored and sent."""
    text = text_of(error)
    left_out = len(text) - MOST_CHARACTERS
    return text if left_out <= 0 else f"{text[:MOST_CHARACTERS]}… ({left_out} more characters)"
