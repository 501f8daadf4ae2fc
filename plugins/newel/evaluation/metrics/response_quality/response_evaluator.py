"""ResponseEvaluator: the two metrics of answers that share one released name."""

from __future__ import annotations

from newel.evaluation.cases.conversation_scenarios import ConversationScenario
from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.metrics.criteria import LlmAsAJudgeCriterion
from newel.evaluation.metrics.eval_metrics import EvalMetric, PrebuiltMetrics
from newel.evaluation.metrics.evaluator import Evaluator, Outcome
from newel.evaluation.metrics.response_match.final_response_match_v1 import RougeEvaluator
from newel.evaluation.metrics.scoring import threshold_of
from newel_types import deferred

_MATCH = PrebuiltMetrics.RESPONSE_MATCH_SCORE.value
_COHERENCE = PrebuiltMetrics.RESPONSE_EVALUATION_SCORE.value

#: The judging code loads with the first metric that needs a judge.
_coherence_evaluator = deferred("newel.evaluation.metrics.response_quality.coherence", "CoherenceEvaluator")


class ResponseEvaluator(Evaluator):
    """`response_match_score` by the words, `response_evaluation_score` by a judge."""

    def __init__(
        self, threshold: float | None = None, metric_name: str | None = None, eval_metric: EvalMetric | None = None
    ) -> None:
        bar = threshold_of(threshold, eval_metric)
        name = eval_metric.metric_name if eval_metric is not None else metric_name
        metric = eval_metric or EvalMetric(metric_name=str(name), threshold=threshold)
        if name == _MATCH:
            self._evaluator: Evaluator = RougeEvaluator(eval_metric=metric)
        elif name == _COHERENCE:
            if metric.criterion is None:
                metric = metric.model_copy(update={"criterion": LlmAsAJudgeCriterion(threshold=bar or 0.0)})
            self._evaluator = _coherence_evaluator()(eval_metric=metric)
        else:
            raise ValueError(f"ResponseEvaluator computes {_MATCH} or {_COHERENCE}, not {name!r}")

    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> Outcome:
        """Score every turn."""
        return self._evaluator.evaluate_invocations(actual_invocations, expected_invocations, conversation_scenario)
