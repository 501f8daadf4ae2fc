"""The context of a tool call."""

from newel.agents.context import ToolContext

__all__ = ["ToolContext"]
