"""Another name of `mortise.workflow.states`."""

from mortise.workflow.states import NodeStatus

__all__ = ["NodeStatus"]
