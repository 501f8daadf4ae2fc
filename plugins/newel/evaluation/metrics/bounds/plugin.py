"""The plugin of metrics: what a case may take at most."""

from __future__ import annotations

from newel.evaluation.kinds import Metric
from newel_kernel import hookimpl
from newel_types import deferred


@hookimpl
def register_metrics() -> list[Metric]:
    """What a case may take at most."""
    return [
        Metric(
            name="max_cost",
            load=deferred("newel.evaluation.metrics.bounds.evaluators", "MaxCost"),
            description="Maximum cost of the agent, in US dollars.",
            interval=None,
            less_is_better=True,
        ),
        Metric(
            name="max_seconds",
            load=deferred("newel.evaluation.metrics.bounds.evaluators", "MaxSeconds"),
            description="Maximum duration of the conversation, in seconds.",
            interval=None,
            less_is_better=True,
        ),
        Metric(
            name="max_tokens",
            load=deferred("newel.evaluation.metrics.bounds.evaluators", "MaxTokens"),
            description="Maximum number of tokens of the agent.",
            interval=None,
            less_is_better=True,
        ),
        Metric(
            name="max_tool_calls",
            load=deferred("newel.evaluation.metrics.bounds.evaluators", "MaxToolCalls"),
            description="Maximum number of tool calls.",
            interval=None,
            less_is_better=True,
        ),
        Metric(
            name="max_words",
            load=deferred("newel.evaluation.metrics.bounds.evaluators", "MaxWords"),
            description="Maximum number of words in each answer.",
            interval=None,
            less_is_better=True,
        ),
    ]
