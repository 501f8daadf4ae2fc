"""ResponseEvaluator, by the released name."""

from newel.evaluation.metrics.response_quality.response_evaluator import ResponseEvaluator

__all__ = ["ResponseEvaluator"]
