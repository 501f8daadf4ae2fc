"""SafetyEvaluatorV1, by the released name."""

from newel.evaluation.metrics.response_quality.safety_evaluator import SafetyEvaluatorV1

__all__ = ["SafetyEvaluatorV1"]
