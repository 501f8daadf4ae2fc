"""The times of a memory's entries: ISO 8601, from an event's seconds and back."""

from __future__ import annotations

from datetime import datetime

from newel_kernel import Event


def time_of(event: Event) -> str | None:
    """The local time of an event as ISO 8601; None if the calendar cannot hold it: it may be any number."""
    try:
        return datetime.fromtimestamp(event.timestamp).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def seconds(timestamp: str | None) -> float | None:
    """The time of an ISO timestamp since the epoch; one without a zone is local."""
    try:
        return datetime.fromisoformat(timestamp).timestamp() if timestamp else None
    except (ValueError, OverflowError, OSError):
        return None
