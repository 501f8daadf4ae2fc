"""HallucinationsV1Evaluator, by the released name."""

from newel.evaluation.metrics.response_quality.hallucinations_v1 import EvaluationStep, HallucinationsV1Evaluator

__all__ = ["EvaluationStep", "HallucinationsV1Evaluator"]
