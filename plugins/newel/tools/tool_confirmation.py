"""A request to confirm a tool call, or its answer."""

from newel_kernel import ToolConfirmation

__all__ = ["ToolConfirmation"]
