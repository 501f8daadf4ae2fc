"""Another name of `mortise.workflow.function_node`."""

from mortise.workflow.function_node import FunctionNode

__all__ = ["FunctionNode"]
