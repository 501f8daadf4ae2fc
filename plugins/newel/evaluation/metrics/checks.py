"""The plugin of metrics: checks of answers that need no code."""

from __future__ import annotations

from newel.evaluation.kinds import Metric
from newel.evaluation.metrics.loading import evaluator
from newel_kernel import hookimpl


@hookimpl
def register_metrics() -> list[Metric]:
    """Checks of answers that need no code."""
    return [
        Metric(
            name="contains",
            load=evaluator("checks:Contains"),
            description="Whether an answer contains a text, or each text of a list.",
        ),
        Metric(
            name="regex",
            load=evaluator("checks:Matches"),
            description="Whether an answer matches a pattern.",
        ),
        Metric(
            name="equals",
            load=evaluator("checks:Equals"),
            description="Whether an answer equals a text.",
        ),
        Metric(
            name="json_schema",
            load=evaluator("checks:FitsSchema"),
            description="Whether an answer is JSON that fits a schema.",
        ),
        Metric(
            name="numeric_tolerance",
            load=evaluator("checks:NumberIsNear"),
            description="Whether an answer has a number close to another.",
        ),
        Metric(
            name="refuses",
            load=evaluator("checks:Refuses"),
            description="Whether an answer declines.",
        ),
        Metric(
            name="language",
            load=evaluator("checks:IsInLanguage"),
            description="Whether an answer is in a language.",
        ),
    ]
