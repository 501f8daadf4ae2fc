"""MultiTurnToolUseQualityV1Evaluator."""

from newel.evaluation.multi_turn import MultiTurnToolUseQualityV1Evaluator

__all__ = ["MultiTurnToolUseQualityV1Evaluator"]
