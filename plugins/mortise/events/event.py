"""One thing that happened in a session."""

from mortise_kernel.events import Event, NodeInfo

__all__ = ["Event", "NodeInfo"]
