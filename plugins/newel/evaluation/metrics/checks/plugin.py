"""The plugin of metrics: checks of answers that need no code."""

from __future__ import annotations

from newel.evaluation.kinds import Metric
from newel_kernel import hookimpl
from newel_types import deferred


@hookimpl
def register_metrics() -> list[Metric]:
    """Checks of answers that need no code."""
    return [
        Metric(
            name="contains",
            load=deferred("newel.evaluation.metrics.checks.evaluators", "Contains"),
            description="Whether an answer contains a text, or each text of a list.",
        ),
        Metric(
            name="regex",
            load=deferred("newel.evaluation.metrics.checks.evaluators", "Matches"),
            description="Whether an answer matches a pattern.",
        ),
        Metric(
            name="equals",
            load=deferred("newel.evaluation.metrics.checks.evaluators", "Equals"),
            description="Whether an answer equals a text.",
        ),
        Metric(
            name="json_schema",
            load=deferred("newel.evaluation.metrics.checks.evaluators", "FitsSchema"),
            description="Whether an answer is JSON that fits a schema.",
        ),
        Metric(
            name="numeric_tolerance",
            load=deferred("newel.evaluation.metrics.checks.evaluators", "NumberIsNear"),
            description="Whether an answer has a number close to another.",
        ),
        Metric(
            name="refuses",
            load=deferred("newel.evaluation.metrics.checks.evaluators", "Refuses"),
            description="Whether an answer declines.",
        ),
        Metric(
            name="language",
            load=deferred("newel.evaluation.metrics.checks.evaluators", "IsInLanguage"),
            description="Whether an answer is in a language.",
        ),
    ]
