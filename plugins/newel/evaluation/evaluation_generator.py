"""EvaluationGenerator, by the released name."""

from newel.evaluation.inference.evaluation_generator import EvaluationGenerator

__all__ = ["EvaluationGenerator"]
