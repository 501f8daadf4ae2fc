"""The plugin of metrics: whole conversations as a judge sees them."""

from __future__ import annotations

from newel.evaluation.kinds import Metric
from newel_kernel import hookimpl
from newel_types import deferred


@hookimpl
def register_metrics() -> list[Metric]:
    """Whole conversations as a judge sees them."""
    return [
        Metric(
            name="multi_turn_task_success_v1",
            load=deferred("newel.evaluation.metrics.conversations.evaluators", "MultiTurnTaskSuccessV1Evaluator"),
            description="Whether the user got what they asked for.",
            needs_judge=True,
        ),
        Metric(
            name="multi_turn_trajectory_quality_v1",
            load=deferred("newel.evaluation.metrics.conversations.evaluators", "MultiTurnTrajectoryQualityV1Evaluator"),
            description="Whether the path to the goal was sound.",
            needs_judge=True,
        ),
        Metric(
            name="multi_turn_tool_use_quality_v1",
            load=deferred("newel.evaluation.metrics.conversations.evaluators", "MultiTurnToolUseQualityV1Evaluator"),
            description="Whether the tools were used well.",
            needs_judge=True,
        ),
        Metric(
            name="per_turn_user_simulator_quality_v1",
            load=deferred(
                "newel.evaluation.simulation.per_turn_user_simulator_quality_v1", "PerTurnUserSimulatorQualityV1"
            ),
            description="Whether a simulated user keeps to its scenario.",
            needs_judge=True,
        ),
    ]
