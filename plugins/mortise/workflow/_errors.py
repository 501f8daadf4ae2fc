"""Another name of `mortise.workflow.errors`."""

from mortise.workflow.errors import DynamicNodeFailError, NodeInterruptedError, NodeTimeoutError

__all__ = ["DynamicNodeFailError", "NodeInterruptedError", "NodeTimeoutError"]
