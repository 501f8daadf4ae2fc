"""The plugin of metrics: which of two answers is better."""

from __future__ import annotations

from newel.evaluation.kinds import Metric
from newel_kernel import hookimpl
from newel_types import deferred


@hookimpl
def register_metrics() -> list[Metric]:
    """Which of two answers is better."""
    return [
        Metric(
            name="pairwise_preference",
            load=deferred("newel.evaluation.metrics.preference.evaluator", "PreferenceEvaluator"),
            description="Whether a judge prefers the answer to the reference, in both orders.",
            needs_reference=True,
            needs_judge=True,
        ),
    ]
