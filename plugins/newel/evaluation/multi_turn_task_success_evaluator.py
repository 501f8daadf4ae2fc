"""MultiTurnTaskSuccessV1Evaluator."""

from newel.evaluation.metrics.conversations.evaluators import MultiTurnTaskSuccessV1Evaluator

__all__ = ["MultiTurnTaskSuccessV1Evaluator"]
