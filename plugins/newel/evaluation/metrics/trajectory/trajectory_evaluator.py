"""TrajectoryEvaluator: whether an agent called the tools that it should have."""

from __future__ import annotations

from collections.abc import Sequence

from newel.evaluation.cases.eval_case import Invocation, get_all_tool_calls
from newel.evaluation.metrics.criteria import ToolTrajectoryCriterion
from newel.evaluation.metrics.eval_metrics import EvalMetric
from newel.evaluation.metrics.scoring import TurnEvaluator, TurnScore, criterion_as
from newel.evaluation.metrics.trajectory.alignment import best_alignment
from newel.evaluation.metrics.trajectory.calls import CallRule, shown
from newel_types import FunctionCall

Calls = Sequence[FunctionCall]
_MATCH = ToolTrajectoryCriterion.MatchType


class TrajectoryEvaluator(TurnEvaluator):
    """`tool_trajectory_avg_score`: 1 for a turn whose calls are as expected, else 0."""

    criterion_type = ToolTrajectoryCriterion

    def __init__(self, threshold: float | None = None, eval_metric: EvalMetric | None = None) -> None:
        super().__init__(threshold, eval_metric)
        criterion = criterion_as(eval_metric, ToolTrajectoryCriterion)
        self._kind = criterion.match_type if criterion is not None else _MATCH.EXACT
        self._rule = CallRule.of(criterion)

    def score_turn(self, actual: Invocation, expected: Invocation | None) -> TurnScore:
        """Compare the calls of one turn."""
        calls = get_all_tool_calls(actual.intermediate_data)
        expectations = get_all_tool_calls(expected.intermediate_data if expected is not None else None)
        problem = self._problem(calls, expectations)
        return TurnScore(1.0) if problem is None else TurnScore(0.0, problem)

    def _problem(self, calls: Calls, expectations: Calls) -> str | None:
        if self._kind is _MATCH.EXACT:
            return _sequence_problem(self._rule, calls, expectations)
        if self._kind is _MATCH.IN_ORDER:
            return _order_problem(self._rule, calls, expectations)
        if self._kind is _MATCH.SUBSET:
            missing = _without_partner(self._rule, expectations, calls, swapped=True)
            return f"not expected: {shown(missing[0])}" if missing else None
        missing = _without_partner(self._rule, calls, expectations)
        return _missing_problem(self._rule, missing[0], calls) if missing else None


def _sequence_problem(rule: CallRule, calls: Calls, expectations: Calls) -> str | None:
    for number, (call, expected) in enumerate(zip(calls, expectations, strict=False), 1):
        if not rule.equal(expected, call):
            return f"call {number}: {rule.difference(expected, call) or _unequal(expected, call)}"
    if len(calls) < len(expectations):
        return f"call {len(calls) + 1}: expected {shown(expectations[len(calls)])}, but no further call was made"
    if len(calls) > len(expectations):
        extra = calls[len(expectations)]
        return f"call {len(expectations) + 1}: {shown(extra)} was called, but no further call is expected"
    return None


def _unequal(expected: FunctionCall, actual: FunctionCall) -> str:
    return f"expected {shown(expected)}, but it was {shown(actual)}"


def _order_problem(rule: CallRule, calls: Calls, expectations: Calls) -> str | None:
    """Greedy: an earlier partner never stands in the way of a later call."""
    at = 0
    for expected in expectations:
        start = at
        while at < len(calls) and not rule.equal(expected, calls[at]):
            at += 1
        if at == len(calls):
            return _missing_problem(rule, expected, calls[start:])
        at += 1
    return None


def _missing_problem(rule: CallRule, expected: FunctionCall, calls: Calls) -> str:
    near = next((call for call in calls if call.name == expected.name), None)
    why = f"; the nearest: {rule.difference(expected, near)}" if near is not None else ""
    return f"expected {shown(expected)}, which was not called{why}"


def _without_partner(rule: CallRule, calls: Calls, expectations: Calls, swapped: bool = False) -> list[FunctionCall]:
    """The `expectations` that have no partner of their own in `calls`; `swapped`: the two swap places in the rule."""
    weights = [[float(rule.equal(m, w) if swapped else rule.equal(w, m)) for m in calls] for w in expectations]
    partnered = {row for row, _ in best_alignment(weights)}
    return [call for number, call in enumerate(expectations) if number not in partnered]
