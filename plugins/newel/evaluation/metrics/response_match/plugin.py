"""The plugin of metrics: the words of answers."""

from __future__ import annotations

from newel.evaluation.kinds import Metric
from newel_kernel import hookimpl
from newel_types import deferred


@hookimpl
def register_metrics() -> list[Metric]:
    """The words of answers."""
    return [
        Metric(
            name="response_match_score",
            load=deferred("newel.evaluation.metrics.response_quality.response_evaluator", "ResponseEvaluator"),
            description="The words that answer and reference share (ROUGE-1).",
            needs_reference=True,
        ),
    ]
