"""Another name of `mortise.workflow.base_node`."""

from mortise.workflow.base_node import START, BaseNode

__all__ = ["START", "BaseNode"]
