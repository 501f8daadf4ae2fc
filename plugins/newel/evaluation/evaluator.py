"""Evaluator, by the released name."""

from newel.evaluation.metrics.evaluator import EvalStatus, EvaluationResult, Evaluator, PerInvocationResult

__all__ = ["EvalStatus", "EvaluationResult", "Evaluator", "PerInvocationResult"]
