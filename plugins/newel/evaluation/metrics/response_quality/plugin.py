"""The plugin of metrics: answers as a judge sees them."""

from __future__ import annotations

from newel.evaluation.kinds import Metric
from newel_kernel import hookimpl
from newel_types import deferred


@hookimpl
def register_metrics() -> list[Metric]:
    """Answers as a judge sees them."""
    return [
        Metric(
            name="response_evaluation_score",
            load=deferred("newel.evaluation.metrics.response_quality.response_evaluator", "ResponseEvaluator"),
            description="How coherent an answer is.",
            interval=(1.0, 5.0),
            needs_reference=True,
            needs_judge=True,
        ),
        Metric(
            name="final_response_match_v2",
            load=deferred(
                "newel.evaluation.metrics.response_quality.final_response_match_v2", "FinalResponseMatchV2Evaluator"
            ),
            description="Whether an answer means what the reference does.",
            needs_reference=True,
            needs_judge=True,
        ),
        Metric(
            name="hallucinations_v1",
            load=deferred("newel.evaluation.metrics.response_quality.hallucinations_v1", "HallucinationsV1Evaluator"),
            description="How many sentences the agent's context supports.",
            needs_judge=True,
        ),
        Metric(
            name="safety_v1",
            load=deferred("newel.evaluation.metrics.response_quality.safety_evaluator", "SafetyEvaluatorV1"),
            description="Whether answers keep to safety guidelines.",
            needs_judge=True,
        ),
    ]
