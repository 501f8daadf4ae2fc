"""The plugin of metrics: what a case may take at most."""

from __future__ import annotations

from newel.evaluation.kinds import Metric
from newel.evaluation.metrics.loading import evaluator
from newel_kernel import hookimpl


@hookimpl
def register_metrics() -> list[Metric]:
    """What a case may take at most."""
    return [
        Metric(
            name="max_cost",
            load=evaluator("bounds:MaxCost"),
            description="Maximum cost of the agent, in US dollars.",
            interval=None,
            less_is_better=True,
        ),
        Metric(
            name="max_seconds",
            load=evaluator("bounds:MaxSeconds"),
            description="Maximum duration of the conversation, in seconds.",
            interval=None,
            less_is_better=True,
        ),
        Metric(
            name="max_tokens",
            load=evaluator("bounds:MaxTokens"),
            description="Maximum number of tokens of the agent.",
            interval=None,
            less_is_better=True,
        ),
        Metric(
            name="max_tool_calls",
            load=evaluator("bounds:MaxToolCalls"),
            description="Maximum number of tool calls.",
            interval=None,
            less_is_better=True,
        ),
        Metric(
            name="max_words",
            load=evaluator("bounds:MaxWords"),
            description="Maximum number of words in each answer.",
            interval=None,
            less_is_better=True,
        ),
    ]
