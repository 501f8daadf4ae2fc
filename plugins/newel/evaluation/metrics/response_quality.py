"""The plugin of metrics: answers as a judge sees them."""

from __future__ import annotations

from newel.evaluation.kinds import Metric
from newel.evaluation.metrics.loading import evaluator
from newel_kernel import hookimpl


@hookimpl
def register_metrics() -> list[Metric]:
    """Answers as a judge sees them."""
    return [
        Metric(
            name="response_evaluation_score",
            load=evaluator("response_evaluator:ResponseEvaluator"),
            description="How coherent an answer is.",
            interval=(1.0, 5.0),
            needs_reference=True,
            needs_judge=True,
        ),
        Metric(
            name="final_response_match_v2",
            load=evaluator("final_response_match_v2:FinalResponseMatchV2Evaluator"),
            description="Whether an answer means what the reference does.",
            needs_reference=True,
            needs_judge=True,
        ),
        Metric(
            name="hallucinations_v1",
            load=evaluator("hallucinations_v1:HallucinationsV1Evaluator"),
            description="How many sentences the agent's context supports.",
            needs_judge=True,
        ),
        Metric(
            name="safety_v1",
            load=evaluator("safety_evaluator:SafetyEvaluatorV1"),
            description="Whether answers keep to safety guidelines.",
            needs_judge=True,
        ),
    ]
