"""A request to confirm a tool call, or its answer."""

from newel_kernel.events import ToolConfirmation

__all__ = ["ToolConfirmation"]
