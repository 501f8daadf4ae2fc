"""CustomMetricEvaluator: a metric that is the user's own function."""

from __future__ import annotations

import inspect
from typing import Any

from newel.evaluation.cases.conversation_scenarios import ConversationScenario
from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.metrics.eval_metrics import EvalMetric
from newel.evaluation.metrics.evaluator import EvaluationResult, Evaluator


class CustomMetricEvaluator(Evaluator):
    """Calls ``function(eval_metric, actual, expected, conversation_scenario)``, which may be plain or async.

    The function finds the threshold in the metric's criterion; the metric's older field is None in the call.
    """

    def __init__(self, eval_metric: EvalMetric, function: Any) -> None:
        self._metric = eval_metric.model_copy(update={"threshold": None})
        self._function = function

    async def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Call the function."""
        result = self._function(self._metric, actual_invocations, expected_invocations, conversation_scenario)
        if inspect.isawaitable(result):
            result = await result
        if not isinstance(result, EvaluationResult):
            raise TypeError(
                f"the metric {self._metric.metric_name} returned {type(result).__name__}, not an EvaluationResult"
            )
        return result
