"""The plugin of metrics: statements that a judge finds true or false."""

from __future__ import annotations

from newel.evaluation.kinds import Metric
from newel_kernel import hookimpl
from newel_types import deferred


@hookimpl
def register_metrics() -> list[Metric]:
    """Statements that a judge finds true or false."""
    return [
        Metric(
            name="rubric_based_final_response_quality_v1",
            load=deferred(
                "newel.evaluation.metrics.rubrics.rubric_based_final_response_quality_v1",
                "RubricBasedFinalResponseQualityV1Evaluator",
            ),
            description="Statements about answers.",
            needs_judge=True,
        ),
        Metric(
            name="rubric_based_tool_use_quality_v1",
            load=deferred(
                "newel.evaluation.metrics.rubrics.rubric_based_tool_use_quality_v1", "RubricBasedToolUseV1Evaluator"
            ),
            description="Statements about the use of tools.",
            needs_judge=True,
        ),
        Metric(
            name="rubric_based_multi_turn_trajectory_quality_v1",
            load=deferred(
                "newel.evaluation.metrics.rubrics.rubric_based_multi_turn_trajectory_evaluator",
                "RubricBasedMultiTurnTrajectoryEvaluator",
            ),
            description="Statements about a whole conversation.",
            needs_judge=True,
        ),
    ]
