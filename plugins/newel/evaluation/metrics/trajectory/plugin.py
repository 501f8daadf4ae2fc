"""The plugin of metrics: how tools were called."""

from __future__ import annotations

from newel.evaluation.kinds import Metric
from newel_kernel import hookimpl
from newel_types import deferred


@hookimpl
def register_metrics() -> list[Metric]:
    """How tools were called."""
    return [
        Metric(
            name="tool_trajectory_avg_score",
            load=deferred("newel.evaluation.metrics.trajectory.trajectory_evaluator", "TrajectoryEvaluator"),
            description="The share of turns whose tool calls are as expected.",
            needs_reference=True,
        ),
        Metric(
            name="tool_trajectory_f1",
            load=deferred("newel.evaluation.metrics.trajectory.tool_quality", "ToolTrajectoryF1Evaluator"),
            description="How many tool calls are as expected, with partial credit.",
            needs_reference=True,
        ),
        Metric(
            name="tool_argument_match",
            load=deferred("newel.evaluation.metrics.trajectory.tool_quality", "ToolArgumentMatchEvaluator"),
            description="How many arguments of the expected tool calls were right.",
            needs_reference=True,
        ),
    ]
