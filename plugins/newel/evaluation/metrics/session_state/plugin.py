"""The plugin of metrics: the state that a conversation leaves."""

from __future__ import annotations

from newel.evaluation.kinds import Metric
from newel_kernel import hookimpl
from newel_types import deferred


@hookimpl
def register_metrics() -> list[Metric]:
    """The state that a conversation leaves."""
    return [
        Metric(
            name="session_state_match",
            load=deferred("newel.evaluation.metrics.session_state.evaluator", "SessionStateEvaluator"),
            description="Whether the session ends in the expected state.",
        ),
    ]
