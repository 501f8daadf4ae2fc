"""MultiTurnTrajectoryQualityV1Evaluator."""

from newel.evaluation.multi_turn import MultiTurnTrajectoryQualityV1Evaluator

__all__ = ["MultiTurnTrajectoryQualityV1Evaluator"]
