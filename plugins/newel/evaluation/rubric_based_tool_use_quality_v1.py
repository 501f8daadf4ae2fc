"""RubricBasedToolUseV1Evaluator, by the released name."""

from newel.evaluation.metrics.rubrics.rubric_based_tool_use_quality_v1 import RubricBasedToolUseV1Evaluator

__all__ = ["RubricBasedToolUseV1Evaluator"]
