"""Provisional results: those that stand in for results still to come."""

from __future__ import annotations

from newel_kernel import Event

#: In the `custom_metadata` of an event of results.
PROVISIONAL = "newel.provisional"


def is_provisional(event: Event) -> bool:
    """Whether the event's results only stand in for results still to come (see `newel_kernel.Log.calls`)."""
    return bool((event.custom_metadata or {}).get(PROVISIONAL))
