"""RubricBasedMultiTurnTrajectoryEvaluator, by the released name."""

from newel.evaluation.metrics.rubrics.rubric_based_multi_turn_trajectory_evaluator import (
    RubricBasedMultiTurnTrajectoryEvaluator,
)

__all__ = ["RubricBasedMultiTurnTrajectoryEvaluator"]
