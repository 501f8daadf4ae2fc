"""SessionStateEvaluator: whether a conversation leaves the session in the state that the case expects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from newel.evaluation.cases.conversation_scenarios import ConversationScenario
from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.metrics.criteria import BaseCriterion
from newel.evaluation.metrics.eval_metrics import EvalMetric, EvalMetricResultDetails
from newel.evaluation.metrics.evaluator import EvaluationResult, Evaluator, PerInvocationResult
from newel.evaluation.metrics.scoring import criterion_as, paired, status_of
from newel.evaluation.metrics.subject import subject
from newel.evaluation.metrics.trajectory.calls import first_difference


class SessionStateCriterion(BaseCriterion):
    """`subset`: every expected key has its value; `exact`: and there are no other keys."""

    match: Literal["subset", "exact"] = "subset"


class SessionStateEvaluator(Evaluator):
    """`session_state_match`: 1 if the state is as `final_session_state` says, else 0; it is on the last turn."""

    criterion_type: ClassVar[type[BaseCriterion]] = SessionStateCriterion

    def __init__(self, eval_metric: EvalMetric) -> None:
        self._threshold = eval_metric.bar
        criterion = criterion_as(eval_metric, SessionStateCriterion)
        self._exact = criterion is not None and criterion.match == "exact"

    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Compare the states."""
        judged = subject.get()
        if judged is None or judged.inference.session_details is None:
            raise ValueError("session_state_match needs the session of the case, but there is none")
        problem = self._problem(judged.case.final_session_state, judged.inference.session_details.state)
        score = 0.0 if problem else 1.0
        turns = [
            PerInvocationResult(actual_invocation=a, expected_invocation=e)
            for a, e in paired(actual_invocations, expected_invocations)
        ]
        details = EvalMetricResultDetails(explanation=problem)
        status = status_of(score, self._threshold)
        if turns:
            turns[-1].score, turns[-1].eval_status, turns[-1].details = score, status, details
        return EvaluationResult(
            overall_score=score, overall_eval_status=status, per_invocation_results=turns, details=details
        )

    def _problem(self, expected: Mapping[str, Any], actual: Mapping[str, Any]) -> str | None:
        for key, value in expected.items():
            if key not in actual or actual[key] != value:
                return first_difference(value, actual.get(key), f"state.{key}")
        further = [key for key in actual if key not in expected] if self._exact else []
        return f"state.{further[0]}: not expected, but it was {actual[further[0]]!r}" if further else None
