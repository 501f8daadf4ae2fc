"""Another name of `newel.workflow.tool_node`."""

from newel.workflow.tool_node import ToolNode

__all__ = ["ToolNode"]
