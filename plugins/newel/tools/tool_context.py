"""The context of a tool call."""

from newel.contexts.context import ToolContext

__all__ = ["ToolContext"]
