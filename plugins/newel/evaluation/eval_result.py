"""Results, by the released name."""

from newel.evaluation.results.eval_result import EvalCaseResult, EvalSetResult

__all__ = ["EvalCaseResult", "EvalSetResult"]
