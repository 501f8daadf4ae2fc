"""Another name of `newel.workflow.states`."""

from newel.workflow.states import NodeStatus

__all__ = ["NodeStatus"]
