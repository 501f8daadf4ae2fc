"""Retained: what a summary of a turn under way leaves for the model to see.

The newest message of the user and each agent's current step stay, though they lie within the summary's range: the
event of the summary bears their ids. A later summary takes them in, or retains them again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice

from newel.flows.exchanges import Exchange
from newel.turns.steering import is_steering
from newel_kernel import Event
from newel_types import Part

#: The keys in the metadata of a summary's event.
RETAINS = "newel.retains"
TAKES_IN = "newel.takes_in"


def retained_by(summary: Event) -> Collection[str]:
    """The ids of the events that a summary leaves alone: messages, and calls with their responses."""
    return _ids(summary, RETAINS)


def taken_in_by(summary: Event) -> Collection[str]:
    """The ids of the events from before its range that a summary stands for, too."""
    return _ids(summary, TAKES_IN)


def _ids(summary: Event, key: str) -> Collection[str]:
    ids = summary.custom_metadata.get(key) if summary.custom_metadata is not None else None
    return ids if isinstance(ids, list) else ()


@dataclass(frozen=True, slots=True)
class Retained:
    """Positions of messages, and of the events of calls that stay with their responses."""

    messages: frozenset[int] = frozenset()
    calls: frozenset[int] = frozenset()


NOTHING = Retained()


def newest_message(events: Sequence[Event], start: int = 0) -> Retained:
    """The user's newest message: those from `start` on, else the last one before it."""
    said = [position for position, event in enumerate(events) if event.author == "user" and _says(event)]
    return Retained(messages=frozenset([position for position in said if position >= start] or said[-1:]))


def under_way(events: Sequence[Event], exchanges: Sequence[Exchange], invocation_id: str) -> Retained:
    """What the turn of this invocation is about: what the user said or answered last, and each agent's last step.

    An agent whose last word is a text has no step under way.
    """
    start = _beginning(events, invocation_id)
    latest: dict[tuple[str, str | None], int] = {}
    for position in range(start, len(events)):
        if events[position].author != "user" and events[position].content is not None:
            latest[events[position].author, events[position].branch] = position
    steps = {*latest.values(), *(p for p in range(start, len(events)) if events[p].author == "user")}
    staying = [one for one in exchanges if not steps.isdisjoint(one.positions)]
    # What the user said with a response stays with it.
    told = {p for one in staying for p in one.positions if events[p].author == "user" and _says(events[p])}
    code = {p for at in latest.values() for p in _code_step(events, at)}
    return Retained(newest_message(events, start).messages | code | told, frozenset(one.position for one in staying))


def _beginning(events: Sequence[Event], invocation_id: str) -> int:
    """The position of what the user said or answered last, not counting what came in amid the turn."""
    for position in range(len(events) - 1, -1, -1):
        event = events[position]
        own = event.author == "user" and event.invocation_id == invocation_id
        if own and event.content is not None and not is_steering(event):
            return position
    return next((p for p, event in enumerate(events) if event.invocation_id == invocation_id), len(events))


def _says(event: Event) -> bool:
    """Whether an event holds more than responses."""
    return any(part.function_response is None for part in _parts(event))


def _code_step(events: Sequence[Event], position: int) -> list[int]:
    """A result of executed code, and the code; nothing if the event is another one."""
    event = events[position]
    if not any(part.code_execution_result is not None for part in _parts(event)):
        return []
    whose = (event.author, event.branch)
    before = (p for p in range(position - 1, -1, -1) if (events[p].author, events[p].branch) == whose)
    return [position, *islice(before, 1)]


def _parts(event: Event) -> Sequence[Part]:
    return (event.content.parts or ()) if event.content is not None else ()
