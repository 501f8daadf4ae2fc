"""TrajectoryEvaluator, by the released name."""

from newel.evaluation.metrics.trajectory.trajectory_evaluator import TrajectoryEvaluator

__all__ = ["TrajectoryEvaluator"]
