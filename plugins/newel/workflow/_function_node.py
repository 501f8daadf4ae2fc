"""Another name of `newel.workflow.function_node`."""

from newel.workflow.function_node import FunctionNode

__all__ = ["FunctionNode"]
