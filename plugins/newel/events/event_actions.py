"""The side effects of an event."""

from newel_kernel.events import EventActions, EventCompaction

__all__ = ["EventActions", "EventCompaction"]
