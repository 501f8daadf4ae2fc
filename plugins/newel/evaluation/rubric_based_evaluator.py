"""RubricBasedEvaluator, by the released name."""

from newel.evaluation.metrics.rubrics.rubric_based_evaluator import RubricBasedEvaluator, RubricResponse

__all__ = ["RubricBasedEvaluator", "RubricResponse"]
