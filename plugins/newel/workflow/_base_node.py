"""Another name of `newel.workflow.base_node`."""

from newel.workflow.base_node import START, BaseNode

__all__ = ["START", "BaseNode"]
