"""The context of a tool call."""

from newel_kernel.context import ToolContext

__all__ = ["ToolContext"]
