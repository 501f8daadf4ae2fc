"""The side effects of an event."""

from newel_kernel import EventActions, EventCompaction

__all__ = ["EventActions", "EventCompaction"]
