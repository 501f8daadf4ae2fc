"""Scores and statuses: what the evaluators of single turns share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pydantic import ValidationError

from newel.evaluation.cases.conversation_scenarios import ConversationScenario
from newel.evaluation.cases.eval_case import Invocation, InvocationEvents
from newel.evaluation.metrics.criteria import BaseCriterion
from newel.evaluation.metrics.eval_metrics import EvalMetric, EvalMetricResultDetails, EvalStatus
from newel.evaluation.metrics.evaluator import EvaluationResult, Evaluator, PerInvocationResult
from newel.evaluation.storage.files import problems_of
from newel_kernel import ConfigurationError
from newel_types import Content

C = TypeVar("C", bound=BaseCriterion)
S = TypeVar("S", bound="Scored")


def status_of(score: float | None, threshold: float | None) -> EvalStatus:
    """PASSED from the threshold on. No score: NOT_EVALUATED; no threshold: INFORMATIONAL."""
    if score is None:
        return EvalStatus.NOT_EVALUATED
    if threshold is None:
        return EvalStatus.INFORMATIONAL
    return EvalStatus.PASSED if score >= threshold else EvalStatus.FAILED


def mean(values: Iterable[float]) -> float | None:
    """The mean; None without values."""
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else None


class Scored(Protocol):
    """An object that has a score, or None."""

    @property
    def score(self) -> float | None:
        """The score; 1 is the best."""


def majority(samples: Sequence[S]) -> S:
    """The first sample of the majority among those with a score. A tie is 0; with no score at all, the first sample."""
    scored = [one for one in samples if one.score is not None]
    if not scored:
        return samples[0]
    good = [one for one in scored if one.score == 1.0]
    bad = [one for one in scored if one.score != 1.0]
    return good[0] if len(good) > len(bad) else bad[0]


def on_last_turn(judged: EvaluationResult, pairs: Sequence[tuple[Invocation, Invocation | None]]) -> EvaluationResult:
    """The result `judged` for a whole conversation, put on its last turn; the other turns have none."""
    turns = [PerInvocationResult(actual_invocation=actual, expected_invocation=expected) for actual, expected in pairs]
    actual, expected = pairs[-1]
    turns[-1] = judged.per_invocation_results[-1].model_copy(
        update={"actual_invocation": actual, "expected_invocation": expected}
    )
    return judged.model_copy(update={"per_invocation_results": turns})


def text_of(content: Content | None) -> str:
    """The text parts without thoughts, one under the other."""
    if content is None:
        return ""
    return "\n".join(part.text for part in content.parts or () if part.text and not part.thought)


def answer_of(invocation: Invocation, with_steps: bool = False) -> str:
    """The final answer; with `with_steps`, after the intermediate texts."""
    final = text_of(invocation.final_response)
    events = invocation.intermediate_data
    if not with_steps or not isinstance(events, InvocationEvents):
        return final
    steps = (text_of(event.content) for event in events.invocation_events)
    return "\n".join(text for text in (*steps, final) if text)


def paired(
    actual: Sequence[Invocation], expected: Sequence[Invocation] | None
) -> list[tuple[Invocation, Invocation | None]]:
    """Each turn with its expected turn; ValueError if the numbers of turns differ."""
    if expected is None:
        return [(turn, None) for turn in actual]
    if len(actual) != len(expected):
        raise ValueError(f"the conversation has {len(actual)} turns, but {len(expected)} are expected")
    return list(zip(actual, expected, strict=True))


def threshold_of(threshold: float | None, eval_metric: EvalMetric | None) -> float | None:
    """The threshold from either argument; ValueError if both are given."""
    if threshold is not None and eval_metric is not None:
        raise ValueError("give either `threshold` or `eval_metric`, not both")
    return eval_metric.bar if eval_metric is not None else threshold


def criterion_as(eval_metric: EvalMetric | None, kind: type[C]) -> C | None:
    """The metric's criterion read as one of `kind`; None if it has none, ValueError if it does not fit."""
    if eval_metric is None or eval_metric.criterion is None:
        return None
    criterion = eval_metric.criterion
    if isinstance(criterion, kind):
        return criterion
    try:
        return kind.model_validate(criterion.model_dump(exclude_unset=True))
    except ValidationError as error:
        raise ConfigurationError(
            f"the criterion of {eval_metric.metric_name} is not a valid {kind.__name__}: {problems_of(error)}"
        ) from None


def needed_criterion(eval_metric: EvalMetric, kind: type[C]) -> C:
    """As `criterion_as`; a ValueError if the metric has no criterion."""
    criterion = criterion_as(eval_metric, kind)
    if criterion is None:
        raise ConfigurationError(
            f"the metric {eval_metric.metric_name} needs a criterion of the type {kind.__name__}; "
            f"write an object under its name in `criteria`"
        )
    return criterion


@dataclass(frozen=True, slots=True)
class TurnScore:
    """One turn's score, and why it is not better."""

    score: float | None
    explanation: str | None = None


class TurnEvaluator(Evaluator):
    """Scores each turn by itself; the conversation has the mean of the turns that have a score."""

    #: Whether it compares with expected turns.
    needs_reference = True

    def __init__(self, threshold: float | None = None, eval_metric: EvalMetric | None = None) -> None:
        self.threshold = threshold_of(threshold, eval_metric)
        self.eval_metric = eval_metric

    @abstractmethod
    def score_turn(self, actual: Invocation, expected: Invocation | None) -> TurnScore:
        """The score of one turn."""

    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Score every turn."""
        if self.needs_reference and expected_invocations is None:
            raise ValueError(f"{type(self).__name__} compares with expected invocations, but there are none")
        turns = [
            self._result(actual, expected) for actual, expected in paired(actual_invocations, expected_invocations)
        ]
        return summarised(turns, self.threshold)

    def _result(self, actual: Invocation, expected: Invocation | None) -> PerInvocationResult:
        turn = self.score_turn(actual, expected)
        return PerInvocationResult(
            actual_invocation=actual,
            expected_invocation=expected,
            score=turn.score,
            eval_status=status_of(turn.score, self.threshold),
            details=EvalMetricResultDetails(explanation=turn.explanation) if turn.explanation else None,
        )


def summarised(turns: list[PerInvocationResult], threshold: float | None) -> EvaluationResult:
    """The result of a conversation: the mean of the turns that have a score."""
    score = mean(turn.score for turn in turns if turn.score is not None)
    if score is None:
        return EvaluationResult(per_invocation_results=turns)
    return EvaluationResult(
        overall_score=score, overall_eval_status=status_of(score, threshold), per_invocation_results=turns
    )
