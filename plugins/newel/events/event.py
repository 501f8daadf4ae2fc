"""One thing that happened in a session."""

from newel_kernel import Event, NodeInfo

__all__ = ["Event", "NodeInfo"]
