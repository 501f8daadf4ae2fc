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
            description="US dollars of the agent, at most.",
            interval=None,
            less_is_better=True,
        ),
        Metric(
            name="max_seconds",
            load=evaluator("bounds:MaxSeconds"),
            description="Seconds of the conversation, at most.",
            interval=None,
            less_is_better=True,
        ),
        Metric(
            name="max_tokens",
            load=evaluator("bounds:MaxTokens"),
            description="Tokens of the agent, at most.",
            interval=None,
            less_is_better=True,
        ),
        Metric(
            name="max_tool_calls",
            load=evaluator("bounds:MaxToolCalls"),
            description="Calls of tools, at most.",
            interval=None,
            less_is_better=True,
        ),
        Metric(
            name="max_words",
            load=evaluator("bounds:MaxWords"),
            description="Words of each answer, at most.",
            interval=None,
            less_is_better=True,
        ),
    ]
