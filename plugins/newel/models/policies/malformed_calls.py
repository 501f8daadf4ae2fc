"""malformed_calls: a call whose arguments are not a JSON object is not made; the model gets an error instead."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from newel.models.kinds import ModelPolicy
from newel.models.wire.answer import MALFORMED_CALLS
from newel_kernel import BaseTool, Context, Event, Json, ToolPolicy, hookimpl

ToolCall = Callable[[BaseTool, Json, Context], Awaitable[Any]]
NAME = "malformed_calls"


def wrap(call_tool: ToolCall) -> ToolCall:
    """A tool call that first checks whether the model's answer marks it as malformed."""

    def checked(tool: BaseTool, args: Json, context: Context) -> Awaitable[Any]:
        problem = _problem(context)
        return call_tool(tool, args, context) if problem is None else _refusal(tool, problem)

    return checked


async def _refusal(tool: BaseTool, problem: str) -> Json:
    return {"error": f"the tool {tool.name} was not called: {problem}; call it again with a JSON object"}


def _problem(context: Context) -> str | None:
    """Why the arguments of the running call cannot be used; None if they can."""
    wanted = context.function_call_id
    for event in reversed(context.session.events):  # the last event, or one near it
        place = 0
        for part in (event.content.parts or ()) if event.content is not None else ():
            if (call := part.function_call) is not None:
                if call.id == wanted:
                    return None if event.custom_metadata is None else _noted(event, place)
                place += 1
    return None


def _noted(event: Event, place: int) -> str | None:
    malformed = (event.custom_metadata or {}).get(MALFORMED_CALLS)
    problem = malformed.get(str(place)) if isinstance(malformed, dict) else None
    return str(problem) if problem is not None else None


@hookimpl
def register_tool_policies() -> list[ToolPolicy]:
    """The policy `malformed_calls` around tools."""
    return [ToolPolicy(name=NAME, wrap=wrap)]


@hookimpl
def register_model_call_policies() -> list[ModelPolicy]:
    """The policy `malformed_calls` around models: its presence lets malformed calls through."""
    return [ModelPolicy(name=NAME)]
