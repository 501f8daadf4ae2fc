"""Another name of `mortise.workflow.join_node`."""

from mortise.workflow.join_node import JoinNode

__all__ = ["JoinNode"]
