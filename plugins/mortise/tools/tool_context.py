"""The context of a tool call."""

from mortise_kernel.context import ToolContext

__all__ = ["ToolContext"]
