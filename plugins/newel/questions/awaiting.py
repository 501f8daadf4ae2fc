"""Awaiting: which results of an event stand for calls that wait for the user's input."""

from __future__ import annotations

from newel_kernel import Event

#: In the `custom_metadata` of an event of results: the ids of the calls that have asked the user for an input.
WAITING = "newel.waits_for_input"


def awaiting(event: Event) -> list[str]:
    """The ids of the calls whose results in `event` are first ones: the calls wait for the user's input."""
    return list((event.custom_metadata or {}).get(WAITING) or ())
