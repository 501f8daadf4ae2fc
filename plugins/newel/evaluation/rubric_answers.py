"""The answers of judges of rubrics, by their former name."""

from newel.evaluation.metrics.rubrics.rubric_answers import RubricResponse, normalised, parse, score_of, scores_of

__all__ = ["RubricResponse", "normalised", "parse", "score_of", "scores_of"]
