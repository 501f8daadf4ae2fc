"""Another name of `newel.workflow.node_runner`."""

from newel.workflow.node_runner import NodeRunner

__all__ = ["NodeRunner"]
