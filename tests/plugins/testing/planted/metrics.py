"""Planted bugs of metrics."""

from __future__ import annotations

from typing import Any, ClassVar

from tests.plugins.testing.planted import Bugs

from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.kinds import Metric
from newel.evaluation.metrics.eval_metrics import EvalMetric, EvalStatus
from newel.evaluation.metrics.evaluator import EvaluationResult, Evaluator, PerInvocationResult
from newel.evaluation.metrics.scoring import answer_of, mean, status_of

BUGS = Bugs()


class Right(Evaluator):
    """A right metric: short answers are good."""

    needs_reference: ClassVar[bool] = False
    description: ClassVar[str] = "Whether an answer is short."

    def __init__(self, eval_metric: EvalMetric) -> None:
        self.threshold = eval_metric.bar

    @classmethod
    def metric(cls) -> Metric:
        """The metric of this class."""
        return Metric(
            name="brevity", load=lambda: cls, description=cls.description, needs_reference=cls.needs_reference
        )

    def score(self, turn: Invocation) -> float | None:
        return 1.0 / max(1, len(answer_of(turn).split()))

    def status(self, score: float | None) -> EvalStatus:
        return status_of(score, self.threshold)

    def evaluate_invocations(self, actual: Any, expected: Any = None, scenario: Any = None) -> EvaluationResult:
        turns = [
            PerInvocationResult(
                actual_invocation=turn,
                expected_invocation=expected[number] if expected else None,
                score=(score := self.score(turn)),
                eval_status=self.status(score),
            )
            for number, turn in enumerate(actual)
        ]
        whole = mean(one.score for one in turns if one.score is not None)
        return EvaluationResult(
            overall_score=whole, overall_eval_status=self.status(whole), per_invocation_results=turns
        )


@BUGS.caught_by("good_passes_and_bad_fails")
class IsTheWrongWayRound(Right):
    def score(self, turn: Invocation) -> float | None:
        return 1.0 - 1.0 / max(1, len(answer_of(turn).split()))


@BUGS.caught_by("good_passes_and_bad_fails")
class AlwaysPasses(Right):
    def score(self, turn: Invocation) -> float | None:
        return 1.0


@BUGS.caught_by("a_status_follows_from_its_score")
class PassesIfOneTurnDoes(Right):
    def evaluate_invocations(self, *turns: Any) -> EvaluationResult:
        result = super().evaluate_invocations(*turns)
        if any(one.eval_status is EvalStatus.PASSED for one in result.per_invocation_results):
            result.overall_eval_status = EvalStatus.PASSED
        return result


@BUGS.caught_by("the_threshold_itself_passes")
class PassesAboveTheThreshold(Right):
    def status(self, score: float | None) -> EvalStatus:
        if score is None:
            return EvalStatus.NOT_EVALUATED
        return EvalStatus.PASSED if score > (self.threshold or 0.0) else EvalStatus.FAILED


@BUGS.caught_by("scores_are_in_the_interval")
class CountsInPercent(Right):
    def score(self, turn: Invocation) -> float | None:
        score = super().score(turn)
        return score and score * 100


@BUGS.caught_by("scores_are_in_the_interval")
class ScoresNaN(Right):
    def evaluate_invocations(self, *turns: Any) -> EvaluationResult:
        result = super().evaluate_invocations(*turns)
        if len(result.per_invocation_results) > 1:
            result.overall_score = float("nan")
        return result


@BUGS.caught_by("each_turn_has_its_result")
class ReportsTheFailedTurns(Right):
    def evaluate_invocations(self, *turns: Any) -> EvaluationResult:
        result = super().evaluate_invocations(*turns)
        failed = [one for one in result.per_invocation_results if one.eval_status is EvalStatus.FAILED]
        result.per_invocation_results = failed or result.per_invocation_results
        return result


@BUGS.caught_by("the_same_turns_score_the_same")
class AddsUp(Right):
    def __init__(self, eval_metric: EvalMetric) -> None:
        super().__init__(eval_metric)
        self.seen = 0

    def score(self, turn: Invocation) -> float | None:
        self.seen += len(answer_of(turn).split())
        return 1.0 / max(1, self.seen)


@BUGS.caught_by("turns_are_not_changed")
class CutsTheAnswer(Right):
    def score(self, turn: Invocation) -> float | None:
        score = super().score(turn)
        if turn.final_response is not None:
            turn.final_response.parts = []
        return score


@BUGS.caught_by("an_agent_that_says_nothing_is_scored")
class ExpectsAnAnswer(Right):
    def score(self, turn: Invocation) -> float | None:
        text = turn.final_response.parts[0].text or ""  # type: ignore[union-attr,index]
        return 1.0 / max(1, len(text.split()))


@BUGS.caught_by("no_expectation_is_no_error")
class NeedsAReferenceInSecret(Right):
    def evaluate_invocations(self, actual: Any, expected: Any = None, scenario: Any = None) -> EvaluationResult:
        [one.final_response for one in expected]
        return super().evaluate_invocations(actual, expected)


@BUGS.caught_by("no_turns_are_not_evaluated")
class FailsWithoutTurns(Right):
    def status(self, score: float | None) -> EvalStatus:
        return EvalStatus.FAILED if score is None else super().status(score)


@BUGS.caught_by("it_says_what_it_is")
class SaysNothing(Right):
    description = ""
