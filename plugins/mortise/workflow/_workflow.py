"""Another name of modules of `mortise.workflow`."""

from mortise.workflow.decorator import parallel_worker
from mortise.workflow.workflow import Workflow

__all__ = ["Workflow", "parallel_worker"]
