"""EvalSetResultsManager, by the released name."""

from newel.evaluation.storage.eval_set_results_manager import EvalSetResultsManager

__all__ = ["EvalSetResultsManager"]
