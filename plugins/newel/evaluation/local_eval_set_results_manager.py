"""LocalEvalSetResultsManager, by the released name."""

from newel.evaluation.storage.local_eval_set_results_manager import LocalEvalSetResultsManager

__all__ = ["LocalEvalSetResultsManager"]
