"""Another name of `mortise.workflow.tool_node`."""

from mortise.workflow.tool_node import ToolNode

__all__ = ["ToolNode"]
