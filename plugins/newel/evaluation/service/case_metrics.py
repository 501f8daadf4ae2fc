"""Case metrics: the metrics of one case, computed from what the agent did."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from newel.evaluation.cases.eval_case import EvalCase, Invocation
from newel.evaluation.metrics.eval_config import criterion_of
from newel.evaluation.metrics.eval_metrics import (
    EvalMetric,
    EvalMetricResult,
    EvalMetricResultDetails,
    EvalMetricResultPerInvocation,
    EvalStatus,
    canonical_name,
)
from newel.evaluation.metrics.evaluator import EvaluationResult, PerInvocationResult
from newel.evaluation.metrics.metric_evaluator_registry import MetricEvaluatorRegistry
from newel.evaluation.metrics.subject import Subject, subject
from newel.evaluation.results.eval_result import EvalCaseResult
from newel.evaluation.service.base_eval_service import InferenceResult, InferenceStatus

Turns = list[Invocation]


class MetricMemo(Protocol):
    """Metrics that need not be computed again."""

    def find(self, metric: EvalMetric, turns: Turns) -> EvaluationResult | None:
        """A metric of an earlier attempt."""
        ...

    def keep(self, metric: EvalMetric, evaluation: EvaluationResult) -> None:
        """Note a metric that was computed."""
        ...


def final_status(results: Sequence[EvalMetricResult]) -> EvalStatus:
    """FAILED if a metric failed, else PASSED if one passed, else NOT_EVALUATED."""
    statuses = {result.eval_status for result in results}
    if EvalStatus.FAILED in statuses:
        return EvalStatus.FAILED
    return EvalStatus.PASSED if EvalStatus.PASSED in statuses else EvalStatus.NOT_EVALUATED


async def judge_case(
    case: EvalCase,
    inference: InferenceResult,
    metrics: Sequence[EvalMetric],
    registry: MetricEvaluatorRegistry,
    memo: MetricMemo | None = None,
) -> EvalCaseResult:
    """The result of a case; a metric that fails is NOT_EVALUATED, and the others count."""
    if inference.status is InferenceStatus.FAILURE or inference.inferences is None:
        return _result(inference, EvalStatus.FAILED, [], [], inference.error_message or "the agent did not run")
    actual = _with_rubrics(case, inference.inferences)
    expected = case.conversation
    if expected is not None and len(expected) != len(actual):
        raise ValueError(
            f"the case {case.eval_id!r} has {len(expected)} turns, but the conversation to judge has {len(actual)}"
        )
    token = subject.set(Subject(case=case, inference=inference))
    try:
        evaluated = [
            (metric, await _remembered(metric, registry, case, actual, memo))
            for metric in _of_case(metrics, case.criteria)
        ]
    finally:
        subject.reset(token)
    turns = [
        EvalMetricResultPerInvocation.model_construct(
            actual_invocation=turn,
            expected_invocation=expected[number] if expected is not None else None,
            eval_metric_results=[
                _metric_result(metric, evaluation.per_invocation_results[number]) for metric, evaluation in evaluated
            ],
        )
        for number, turn in enumerate(actual)
    ]
    overall = [_overall(metric, evaluation) for metric, evaluation in evaluated]
    return _result(inference, final_status(overall), overall, turns)


def _of_case(metrics: Sequence[EvalMetric], criteria: Mapping[str, Any]) -> list[EvalMetric]:
    """The metrics with a case's own criteria in place of the general ones; further ones come last."""
    own = {canonical_name(name): value for name, value in criteria.items()}
    result = [_with_criterion(metric, own.pop(metric.metric_name, None)) for metric in metrics]
    return [*result, *(_with_criterion(EvalMetric(metric_name=name), value) for name, value in own.items())]


def _with_criterion(metric: EvalMetric, value: Any) -> EvalMetric:
    if value is None:
        return metric
    if not isinstance(value, dict) and metric.criterion is not None:
        criterion = metric.criterion.model_copy(update={"threshold": criterion_of(value).threshold})
    else:
        criterion = criterion_of(value)
    return metric.model_copy(update={"criterion": criterion, "threshold": criterion.threshold})


def _with_rubrics(case: EvalCase, actual: Turns) -> Turns:
    """The turns with the rubrics of the case and of the expected turns."""
    turns = []
    for number, turn in enumerate(actual):
        expected = case.conversation[number] if case.conversation and number < len(case.conversation) else None
        rubrics = [*(turn.rubrics or ()), *(case.rubrics or ()), *((expected.rubrics if expected else None) or ())]
        turns.append(turn.model_copy(update={"rubrics": rubrics}) if rubrics else turn)
    return turns


async def _remembered(
    metric: EvalMetric, registry: MetricEvaluatorRegistry, case: EvalCase, actual: Turns, memo: MetricMemo | None
) -> EvaluationResult:
    if memo is None:
        return await _evaluate(metric, registry, case, actual)
    evaluation = memo.find(metric, actual)
    if evaluation is None:
        evaluation = await _evaluate(metric, registry, case, actual)
        if evaluation.details is None or evaluation.details.error is None:
            memo.keep(metric, evaluation)
    return evaluation


async def _evaluate(
    metric: EvalMetric, registry: MetricEvaluatorRegistry, case: EvalCase, actual: Turns
) -> EvaluationResult:
    try:
        evaluation = await _computed(metric, registry, case, actual, case.conversation)
        for number, criteria in case.turn_criteria.items():
            own = {canonical_name(name): value for name, value in criteria.items()}.get(metric.metric_name)
            if own is not None and 0 <= number < len(actual):
                await _judge_turn_by_itself(_with_criterion(metric, own), registry, case, actual, number, evaluation)
    except Exception as error:  # noqa: BLE001 - a metric may be a plugin's; it has no score, the others do
        details = EvalMetricResultDetails(error=f"{type(error).__name__}: {error}")
        turns = [PerInvocationResult.model_construct(actual_invocation=t, details=details) for t in actual]
        return EvaluationResult.model_construct(per_invocation_results=turns, details=details)
    if len(evaluation.per_invocation_results) != len(actual):
        raise ValueError(
            f"the metric {metric.metric_name} judged {len(evaluation.per_invocation_results)} turns of a conversation "
            f"that has {len(actual)}"
        )
    return evaluation


async def _computed(
    metric: EvalMetric, registry: MetricEvaluatorRegistry, case: EvalCase, actual: Turns, expected: Turns | None
) -> EvaluationResult:
    outcome = registry.get_evaluator(metric).evaluate_invocations(actual, expected, case.conversation_scenario)
    return await outcome if inspect.isawaitable(outcome) else outcome


async def _judge_turn_by_itself(
    metric: EvalMetric,
    registry: MetricEvaluatorRegistry,
    case: EvalCase,
    actual: Turns,
    number: int,
    evaluation: EvaluationResult,
) -> None:
    """Replace the result of a turn that has its own criterion; if the turn fails, so does the conversation."""
    expected = case.conversation[number : number + 1] if case.conversation is not None else None
    alone = await _computed(metric, registry, case, actual[number : number + 1], expected)
    turn = alone.per_invocation_results[0]
    evaluation.per_invocation_results[number] = turn
    if turn.eval_status is EvalStatus.FAILED:
        why = f"turn {number + 1} has {turn.score}, below its own threshold {metric.bar}"
        evaluation.overall_eval_status = EvalStatus.FAILED
        evaluation.details = (evaluation.details or EvalMetricResultDetails()).model_copy(update={"explanation": why})


def _metric_result(metric: EvalMetric, turn: PerInvocationResult) -> EvalMetricResult:
    return _measured(metric, turn.score, turn.eval_status, turn.details, turn.rubric_scores)


def _overall(metric: EvalMetric, evaluation: EvaluationResult) -> EvalMetricResult:
    details = evaluation.details
    if details is None:
        details = next((t.details for t in evaluation.per_invocation_results if _says_why(t)), None)
    return _measured(
        metric, evaluation.overall_score, evaluation.overall_eval_status, details, evaluation.overall_rubric_scores
    )


def _says_why(turn: PerInvocationResult) -> bool:
    return turn.details is not None and (turn.details.explanation is not None or turn.details.error is not None)


def _measured(
    metric: EvalMetric, score: float | None, status: EvalStatus, details: EvalMetricResultDetails | None, rubrics: Any
) -> EvalMetricResult:
    if rubrics:
        details = (details or EvalMetricResultDetails()).model_copy(update={"rubric_scores": rubrics})
    return EvalMetricResult.model_construct(
        metric_name=metric.metric_name,
        threshold=metric.bar,
        criterion=metric.criterion,
        custom_function_path=metric.custom_function_path,
        score=score,
        eval_status=status,
        details=details or EvalMetricResultDetails(),
    )


def _result(
    inference: InferenceResult,
    status: EvalStatus,
    overall: list[EvalMetricResult],
    turns: list[EvalMetricResultPerInvocation],
    error: str | None = None,
) -> EvalCaseResult:
    return EvalCaseResult.model_construct(
        eval_set_file=inference.eval_set_id,
        eval_set_id=inference.eval_set_id,
        eval_id=inference.eval_case_id,
        final_eval_status=status,
        eval_metric_results=None,
        overall_eval_metric_results=overall,
        eval_metric_result_per_invocation=turns,
        session_id=inference.session_id or "",
        session_details=inference.session_details,
        user_id=inference.user_id,
        error_message=error,
        repeat=None,
    )
