"""One thing that happened in a session."""

from newel_kernel.events import Event, NodeInfo

__all__ = ["Event", "NodeInfo"]
