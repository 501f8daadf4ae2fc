"""The plugin of metrics: what a conversation took."""

from __future__ import annotations

from newel.evaluation.kinds import Metric
from newel.evaluation.metrics.loading import evaluator
from newel_kernel import hookimpl


@hookimpl
def register_metrics() -> list[Metric]:
    """What a conversation took."""
    return [
        Metric(
            name="tool_call_count_v1",
            load=evaluator("efficiency:ToolCallCountEvaluator"),
            description="Tool calls in a turn.",
            interval=None,
            informational=True,
        ),
        Metric(
            name="inference_call_count_v1",
            load=evaluator("efficiency:InferenceCallCountEvaluator"),
            description="Model calls in a turn.",
            interval=None,
            informational=True,
        ),
        Metric(
            name="token_usage_v1",
            load=evaluator("efficiency:TokenUsageEvaluator"),
            description="Tokens used in a turn.",
            interval=None,
            informational=True,
        ),
        Metric(
            name="invocation_duration_v1",
            load=evaluator("efficiency:InvocationDurationEvaluator"),
            description="Duration of a turn, in seconds.",
            interval=None,
            informational=True,
        ),
    ]
