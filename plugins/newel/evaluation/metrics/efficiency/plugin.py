"""The plugin of metrics: what a conversation took."""

from __future__ import annotations

from newel.evaluation.kinds import Metric
from newel_kernel import hookimpl
from newel_types import deferred


@hookimpl
def register_metrics() -> list[Metric]:
    """What a conversation took."""
    return [
        Metric(
            name="tool_call_count_v1",
            load=deferred("newel.evaluation.metrics.efficiency.evaluators", "ToolCallCountEvaluator"),
            description="Tool calls in a turn.",
            interval=None,
            informational=True,
        ),
        Metric(
            name="inference_call_count_v1",
            load=deferred("newel.evaluation.metrics.efficiency.evaluators", "InferenceCallCountEvaluator"),
            description="Model calls in a turn.",
            interval=None,
            informational=True,
        ),
        Metric(
            name="token_usage_v1",
            load=deferred("newel.evaluation.metrics.efficiency.evaluators", "TokenUsageEvaluator"),
            description="Tokens used in a turn.",
            interval=None,
            informational=True,
        ),
        Metric(
            name="invocation_duration_v1",
            load=deferred("newel.evaluation.metrics.efficiency.evaluators", "InvocationDurationEvaluator"),
            description="Duration of a turn, in seconds.",
            interval=None,
            informational=True,
        ),
    ]
