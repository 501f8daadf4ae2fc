"""Another name of `newel.workflow.errors`."""

from newel.workflow.errors import DynamicNodeFailError, NodeInterruptedError, NodeTimeoutError

__all__ = ["DynamicNodeFailError", "NodeInterruptedError", "NodeTimeoutError"]
