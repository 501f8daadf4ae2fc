"""Another name of `mortise.workflow.states`."""

from mortise.workflow.states import NodeState

__all__ = ["NodeState"]
