"""Rubrics, by the released name."""

from newel.evaluation.cases.eval_rubrics import Rubric, RubricContent, RubricScore

__all__ = ["Rubric", "RubricContent", "RubricScore"]
