"""EvalSet, by the released name."""

from newel.evaluation.cases.eval_set import EvalCase, EvalSet

__all__ = ["EvalCase", "EvalSet"]
