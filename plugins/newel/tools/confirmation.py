"""Confirmation: the question to the user before a tool call, and the result that the model gets meanwhile."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeAlias

from newel.contexts.context import full
from newel.tools.function_signature import Call, shape_of
from newel_kernel import Context, Json

#: Whether a call needs approval: always, never, or what a function of the call's arguments says.
Needed: TypeAlias = bool | Callable[..., object]


async def refusal(tool_name: str, needed: Needed, values: Json, tool_context: Context) -> Json | None:
    """None if the call may go ahead, else the result that says why not.

    Specified in docs/reference/behaviour.md#confirmation.
    """
    need: object = needed
    if callable(needed):
        shape = shape_of(needed)
        args = values if shape.context_name is None else {**values, shape.context_name: tool_context}
        need = (needed if shape.signature is None else Call(needed, shape.signature))(**args)
        if inspect.isawaitable(need):
            need = await need
    if not need:
        return None
    context = full(tool_context)
    confirmation = context.tool_confirmation
    if confirmation is None:
        context.request_confirmation(
            hint=(
                f"Please approve or reject the tool call {tool_name}() by responding with a FunctionResponse "
                f"with an expected ToolConfirmation payload."
            )
        )
        tool_context.actions.skip_summarization = True
        return {"error": "This tool call requires confirmation, please approve or reject."}
    return None if confirmation.confirmed else {"error": "This tool call is rejected."}
