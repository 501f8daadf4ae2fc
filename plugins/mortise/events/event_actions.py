"""The side effects of an event."""

from mortise_kernel.events import EventActions, EventCompaction

__all__ = ["EventActions", "EventCompaction"]
