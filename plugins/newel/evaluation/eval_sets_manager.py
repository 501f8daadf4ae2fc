"""EvalSetsManager, by the released name."""

from newel.evaluation.storage.eval_sets_manager import EvalSetsManager

__all__ = ["EvalSetsManager"]
