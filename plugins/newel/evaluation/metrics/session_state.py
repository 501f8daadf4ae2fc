"""The plugin of metrics: the state that a conversation leaves."""

from __future__ import annotations

from newel.evaluation.kinds import Metric
from newel.evaluation.metrics.loading import evaluator
from newel_kernel import hookimpl


@hookimpl
def register_metrics() -> list[Metric]:
    """The state that a conversation leaves."""
    return [
        Metric(
            name="session_state_match",
            load=evaluator("session_state:SessionStateEvaluator"),
            description="Whether the session ends in the expected state.",
        ),
    ]
