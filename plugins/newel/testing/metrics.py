"""metric_conformance: checks that a metric scores, and says so, as every metric does."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.metrics.criteria import BaseCriterion
from newel.evaluation.metrics.eval_metrics import EvalMetric, EvalStatus
from newel.evaluation.metrics.evaluator import EvaluationResult, Evaluator
from newel.testing.sessions.place import same
from newel.testing.store_checks import run_all
from newel_types import Content, Part

if TYPE_CHECKING:
    from newel.evaluation.kinds import Metric

#: The agent's answer and the expected one, as texts or turns; None: nothing is expected.
Pair: TypeAlias = tuple[str | Invocation, str | Invocation | None]


class _Case(NamedTuple):
    metric: Metric
    good: Pair
    bad: Pair
    criterion: BaseCriterion | None

    def evaluator(self) -> Evaluator:
        """A new evaluator; AssertionError if `load` gives no class of one."""
        kind = self.metric.load()
        criterion = None if self.metric.informational else self.criterion
        made = kind(eval_metric=EvalMetric(metric_name=self.metric.name, criterion=criterion))
        assert isinstance(made, Evaluator), f"`load` gives {kind!r:.100}, not a class of Evaluator"
        return made

    @property
    def threshold(self) -> float | None:
        """The score that passes."""
        return None if self.metric.informational or self.criterion is None else self.criterion.threshold


def turn(answer: str | Invocation | None, number: int = 0) -> Invocation:
    """A turn with an answer; with None, of an agent that gave none."""
    if isinstance(answer, Invocation):
        return answer.model_copy(deep=True)
    asked = Content(role="user", parts=[Part(text="What is it?")])
    reply = None if answer is None else Content(role="model", parts=[Part(text=answer)])
    return Invocation(invocation_id=f"i{number}", user_content=asked, final_response=reply)


async def _evaluated(evaluator: Evaluator, *pairs: Pair, expected: bool = True) -> EvaluationResult:
    actual = [turn(answer, number) for number, (answer, _) in enumerate(pairs)]
    wanted = [turn(one, number) for number, (_, one) in enumerate(pairs) if one is not None]
    result = evaluator.evaluate_invocations(actual, wanted if expected and len(wanted) == len(actual) else None)
    result = await result if inspect.isawaitable(result) else result
    assert isinstance(result, EvaluationResult), f"{result!r:.100} instead of an EvaluationResult"
    return result


def _right(case: _Case, score: float | None) -> EvalStatus:
    """The status of a score."""
    if score is None:
        return EvalStatus.NOT_EVALUATED
    if case.threshold is None:
        return EvalStatus.INFORMATIONAL
    passes = score <= case.threshold if case.metric.less_is_better else score >= case.threshold
    return EvalStatus.PASSED if passes else EvalStatus.FAILED


async def good_passes_and_bad_fails(case: _Case) -> None:
    """And the good one has the better score."""
    good, bad = await _evaluated(case.evaluator(), case.good), await _evaluated(case.evaluator(), case.bad)
    assert good.overall_score is not None, f"the good answer has no score: {good.details}"
    assert bad.overall_score is not None, f"the bad answer has no score: {bad.details}"
    worse = (
        bad.overall_score > good.overall_score if case.metric.less_is_better else bad.overall_score < good.overall_score
    )
    assert worse, f"the good answer scores {good.overall_score}, the bad one {bad.overall_score}"
    if case.threshold is not None:
        statuses = (good.overall_eval_status, bad.overall_eval_status)
        same(statuses, (EvalStatus.PASSED, EvalStatus.FAILED))


async def a_status_follows_from_its_score(case: _Case) -> None:
    """It passes from the threshold on (a cost: up to it); a score that is none is not evaluated."""
    for pairs in ((case.good,), (case.bad,), (case.good, case.bad), (case.good, *[case.bad] * 5)):
        result = await _evaluated(case.evaluator(), *pairs)
        same(result.overall_eval_status, _right(case, result.overall_score))
        for one in result.per_invocation_results:
            assert one.eval_status in (_right(case, one.score), EvalStatus.INFORMATIONAL, EvalStatus.NOT_EVALUATED), (
                f"a turn with the score {one.score} and the threshold {case.threshold} is {one.eval_status.name}"
            )


async def the_threshold_itself_passes(case: _Case) -> None:
    """A score that is exactly the threshold."""
    if case.threshold is None or case.criterion is None:
        return
    score = (await _evaluated(case.evaluator(), case.bad)).overall_score
    if score is None:
        return
    exact = case._replace(criterion=case.criterion.model_copy(update={"threshold": score}))
    same((await _evaluated(exact.evaluator(), case.bad)).overall_eval_status, EvalStatus.PASSED)


async def scores_are_in_the_interval(case: _Case) -> None:
    """The one that the metric says; a score is a number, neither NaN nor a truth value."""
    low, high = case.metric.interval or (float("-inf"), float("inf"))
    result = await _evaluated(case.evaluator(), case.good, case.bad)
    for score in (result.overall_score, *(one.score for one in result.per_invocation_results)):
        assert score is None or (score == score and not isinstance(score, bool)), f"the score {score!r} is not a number"
        assert score is None or low <= score <= high, f"the score {score} is not within {low} and {high}"


async def each_turn_has_its_result(case: _Case) -> None:
    """In their order, with the turn and the expected one."""
    pairs = (case.good, case.bad, case.good)
    result = await _evaluated(case.evaluator(), *pairs)
    got = [one.actual_invocation for one in result.per_invocation_results]
    same(got, [turn(answer, number) for number, (answer, _) in enumerate(pairs)])
    if all(expected is not None for _, expected in pairs):
        wanted = [one.expected_invocation for one in result.per_invocation_results]
        same(wanted, [turn(expected, number) for number, (_, expected) in enumerate(pairs)])


async def the_same_turns_score_the_same(case: _Case) -> None:
    """With one evaluator and with another, after other turns and while it scores them; not if a judge is asked."""
    if case.metric.needs_judge:
        return
    one = case.evaluator()
    expected = await _evaluated(case.evaluator(), case.good, case.bad)
    await _evaluated(one, case.bad)
    same(await _evaluated(one, case.good, case.bad), expected)
    both = await asyncio.gather(*(_evaluated(one, *pairs) for pairs in [(case.good, case.bad), (case.bad,)] * 3))
    same(both[::2], [expected] * 3)


async def turns_are_not_changed(case: _Case) -> None:
    """Other metrics read them too."""
    actual, wanted = ([turn(pair[which]) for pair in (case.good, case.bad)] for which in (0, 1))
    before = [one.model_dump(mode="json") for one in (*actual, *wanted)]
    result = case.evaluator().evaluate_invocations(actual, wanted)
    await result if inspect.isawaitable(result) else result
    same([one.model_dump(mode="json") for one in (*actual, *wanted)], before)


async def an_agent_that_says_nothing_is_scored(case: _Case) -> None:
    """No final response, one without parts and an empty one: a low score or none, and no error."""
    expected = case.good[1]
    empty = turn("x").model_copy(update={"final_response": Content(role="model", parts=[])})
    for answer in (turn(None), empty, ""):
        result = await _evaluated(case.evaluator(), (answer, expected))
        same(len(result.per_invocation_results), 1)
        same(result.overall_eval_status, _right(case, result.overall_score))


async def no_expectation_is_no_error(case: _Case) -> None:
    """Without a reference a metric scores, or if it needs one, refuses or does not let the case pass."""
    try:
        result = await _evaluated(case.evaluator(), (case.good[0], None), expected=False)
    except ValueError:
        assert case.metric.needs_reference, "it is refused without a reference, and says `needs_reference=False`"
        return
    if case.metric.needs_reference:
        assert result.overall_eval_status is not EvalStatus.PASSED, "it passes although nothing is expected"
    else:
        assert result.overall_score is not None, "it has no score without a reference, and says `needs_reference=False`"


async def no_turns_are_not_evaluated(case: _Case) -> None:
    """A conversation without turns has no results, and never fails."""
    result = await _evaluated(case.evaluator())
    same(result.per_invocation_results, [])
    assert result.overall_eval_status is not EvalStatus.FAILED, "a conversation without turns fails"


async def it_says_what_it_is(case: _Case) -> None:
    """A name without blanks, and a description of one line."""
    name, text = case.metric.name, case.metric.description
    assert re.fullmatch(r"[^\s/]+", name), f"{name!r} cannot be a key of `criteria`"
    assert re.fullmatch(r"\S.*", text), f"the description {text!r} is not one line"
    assert case.metric.load() is not None, "`load` gives nothing"


CHECKS = {
    check.__name__: check
    for check in (
        good_passes_and_bad_fails,
        a_status_follows_from_its_score,
        the_threshold_itself_passes,
        scores_are_in_the_interval,
        each_turn_has_its_result,
        the_same_turns_score_the_same,
        turns_are_not_changed,
        an_agent_that_says_nothing_is_scored,
        no_expectation_is_no_error,
        no_turns_are_not_evaluated,
        it_says_what_it_is,
    )
}


def metric_checks(
    metric: Metric, *, good: Pair, bad: Pair, threshold: float = 0.5, criterion: BaseCriterion | None = None
) -> Mapping[str, Callable[[], None]]:
    """The checks of a metric by name: each is called without arguments; AssertionError if it fails.

    `good` and `bad` are an answer and the expected one: the first pair passes at the threshold, the second fails. A
    `criterion` has the threshold and other settings. A metric that reports only takes neither.
    """
    case = _Case(metric, good, bad, criterion or BaseCriterion(threshold=threshold))

    def run(check: Callable[[_Case], Any]) -> None:
        asyncio.run(check(case))

    return {name: partial(run, check) for name, check in CHECKS.items()}


def metric_conformance(
    metric: Metric, *, good: Pair, bad: Pair, threshold: float = 0.5, criterion: BaseCriterion | None = None
) -> None:
    """Run every check of `metric_checks`; one AssertionError names all that fail."""
    run_all(metric_checks(metric, good=good, bad=bad, threshold=threshold, criterion=criterion), "metric")
