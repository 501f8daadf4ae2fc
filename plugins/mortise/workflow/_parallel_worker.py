"""Another name of `mortise.workflow.parallel_worker`."""

from mortise.workflow.parallel_worker import ParallelWorker as _ParallelWorker

__all__ = ["_ParallelWorker"]
