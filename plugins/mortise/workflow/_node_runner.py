"""Another name of `mortise.workflow.node_runner`."""

from mortise.workflow.node_runner import NodeRunner

__all__ = ["NodeRunner"]
