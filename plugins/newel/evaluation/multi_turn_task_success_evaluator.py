"""MultiTurnTaskSuccessV1Evaluator."""

from newel.evaluation.multi_turn import MultiTurnTaskSuccessV1Evaluator

__all__ = ["MultiTurnTaskSuccessV1Evaluator"]
