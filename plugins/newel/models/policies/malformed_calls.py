"""malformed_calls: a call whose arguments are no object of JSON is not made; the model gets an error instead."""

from __future__ import annotations

from newel.models.wire.answer import MALFORMED_CALLS
from newel_kernel import BaseTool, Context, Event, Json, hookimpl


@hookimpl(tryfirst=True)
def before_tool_callback(tool: BaseTool, tool_args: Json, tool_context: Context) -> Json | None:
    """The error that answers a call which the model spelt wrong."""
    for event in reversed(tool_context.session.events):  # the last one, or it is near
        calls = event.get_function_calls()
        place = next((n for n, call in enumerate(calls) if call.id == tool_context.function_call_id), None)
        if place is not None:
            problem = _problem(event, place)
            again = "call it again with an object of JSON"
            return {"error": f"the tool {tool.name} was not called: {problem}; {again}"} if problem else None
    return None


def _problem(event: Event, place: int) -> str | None:
    malformed = (event.custom_metadata or {}).get(MALFORMED_CALLS)
    problem = malformed.get(str(place)) if isinstance(malformed, dict) else None
    return str(problem) if problem is not None else None
