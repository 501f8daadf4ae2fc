"""The context of a tool call."""

from newel_kernel import ToolContext

__all__ = ["ToolContext"]
