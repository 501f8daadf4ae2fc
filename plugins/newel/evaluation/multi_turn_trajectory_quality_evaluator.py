"""MultiTurnTrajectoryQualityV1Evaluator."""

from newel.evaluation.metrics.conversations.evaluators import MultiTurnTrajectoryQualityV1Evaluator

__all__ = ["MultiTurnTrajectoryQualityV1Evaluator"]
