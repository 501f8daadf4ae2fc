"""Calls: those of a session's log that wait for the user, and where they were answered."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from newel.questions.interim_results import is_interim
from newel.questions.names import HIDDEN
from newel_kernel import Event, Log
from newel_types import FunctionCall


def requests(log: Log, ids: Collection[str | None]) -> Iterator[tuple[int, Event, FunctionCall]]:
    """The calls of these ids that wait for the outside, newest first, each with its event and that event's position.

    Only the runtime marks a call as one that waits, whatever ids a model gives to calls of its own.
    """
    for position, event in log.backwards():
        if (waiting := event.long_running_tool_ids) and not waiting.isdisjoint(ids):
            for call in event.get_function_calls():
                if call.id in waiting and call.id in ids:
                    yield position, event, call


def answers(log: Log, call_id: str | None, since: int = 0) -> list[int]:
    """The positions of the user's events from `since` on that answer the call, oldest first: the first one wins."""
    positions = []
    for position, event in log.backwards():
        if position < since:
            break
        if event.author == "user" and any(one.id == call_id for one in event.get_function_responses()):
            positions.append(position)
    return positions[::-1]


def open_requests(log: Log) -> list[tuple[Event, FunctionCall]]:
    """The calls that wait for the outside and that the user has not answered, the oldest first.

    A long-running tool's call still waits after a response that says that its work goes on.
    """
    pending: dict[str, tuple[Event, FunctionCall]] = {}
    for event in log.standing():
        if event.author == "user":
            for response in event.get_function_responses():
                asked = pending.get(response.id or "")
                if asked is not None and (asked[1].name in HIDDEN or not is_interim(response)):
                    del pending[response.id or ""]
        elif waiting := event.long_running_tool_ids:
            pending.update((call.id, (event, call)) for call in event.get_function_calls() if call.id in waiting)
    return list(pending.values())
