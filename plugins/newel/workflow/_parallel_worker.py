"""Another name of `newel.workflow.parallel_worker`."""

from newel.workflow.parallel_worker import ParallelWorker as _ParallelWorker

__all__ = ["_ParallelWorker"]
