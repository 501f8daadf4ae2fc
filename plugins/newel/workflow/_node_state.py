"""Another name of `newel.workflow.states`."""

from newel.workflow.states import NodeState

__all__ = ["NodeState"]
