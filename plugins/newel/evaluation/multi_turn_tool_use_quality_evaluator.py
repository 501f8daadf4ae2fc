"""MultiTurnToolUseQualityV1Evaluator."""

from newel.evaluation.metrics.conversations.evaluators import MultiTurnToolUseQualityV1Evaluator

__all__ = ["MultiTurnToolUseQualityV1Evaluator"]
