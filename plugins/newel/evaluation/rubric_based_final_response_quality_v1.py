"""RubricBasedFinalResponseQualityV1Evaluator, by the released name."""

from newel.evaluation.metrics.rubrics.rubric_based_final_response_quality_v1 import (
    RubricBasedFinalResponseQualityV1Evaluator,
)

__all__ = ["RubricBasedFinalResponseQualityV1Evaluator"]
