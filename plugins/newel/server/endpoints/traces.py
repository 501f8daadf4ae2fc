"""Traces of recent runs."""

from __future__ import annotations

from newel.server.calls import Call
from newel.server.refusals import Refusal


async def trace_of_session(call: Call) -> object:
    """The spans of a session's recent runs."""
    traces = call.server.traces
    return [] if traces is None else traces.of_session(_app(call), call.path["session_id"])


async def trace_of_event(call: Call) -> object:
    """The attributes of the model call or tool call that made an event."""
    traces = call.server.traces
    found = None if traces is None else traces.of_event(_app(call), call.path["event_id"])
    if found is None:
        raise Refusal(404, "Trace not found")
    return found


def _app(call: Call) -> str | None:
    """The app of the path; the oldest paths have none."""
    name = call.path.get("app_name")
    if name is not None:
        call.server.apps.place(name)
    return name
