"""Another name of modules of `newel.workflow`."""

from newel.workflow.decorator import parallel_worker
from newel.workflow.workflow import Workflow

__all__ = ["Workflow", "parallel_worker"]
