"""Another name of `newel.workflow.join_node`."""

from newel.workflow.join_node import JoinNode

__all__ = ["JoinNode"]
