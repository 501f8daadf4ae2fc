"""Partial credit for tool calls: `tool_trajectory_f1` and `tool_argument_match`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from newel.evaluation.cases.eval_case import Invocation, get_all_tool_calls
from newel.evaluation.metrics.criteria import ToolTrajectoryCriterion
from newel.evaluation.metrics.eval_metrics import EvalMetric
from newel.evaluation.metrics.scoring import TurnEvaluator, TurnScore, criterion_as, mean
from newel.evaluation.metrics.trajectory.alignment import best_alignment
from newel.evaluation.metrics.trajectory.calls import CallRule, shown
from newel_types import FunctionCall


class _AlignedEvaluator(TurnEvaluator):
    """Pairs actual and expected calls one to one, as well as they can be paired."""

    criterion_type = ToolTrajectoryCriterion

    def __init__(self, threshold: float | None = None, eval_metric: EvalMetric | None = None) -> None:
        super().__init__(threshold, eval_metric)
        self._rule = CallRule.of(criterion_as(eval_metric, ToolTrajectoryCriterion))

    def score_turn(self, actual: Invocation, expected: Invocation | None) -> TurnScore:
        """Score the calls of one turn; nothing expected and nothing called is 1."""
        calls = get_all_tool_calls(actual.intermediate_data)
        expected_calls = get_all_tool_calls(expected.intermediate_data if expected is not None else None)
        if not calls and not expected_calls:
            return TurnScore(1.0)
        weights = [[self._weight(w, m) for m in calls] for w in expected_calls]
        return self._score(calls, expected_calls, {row: (c, weights[row][c]) for row, c in best_alignment(weights)})

    def _weight(self, expected: FunctionCall, actual: FunctionCall) -> float:
        raise NotImplementedError

    def _score(
        self, calls: list[FunctionCall], expected_calls: list[FunctionCall], pairs: Mapping[int, tuple[int, float]]
    ) -> TurnScore:
        raise NotImplementedError


class ToolTrajectoryF1Evaluator(_AlignedEvaluator):
    """The harmonic mean of the share of expected calls that were made and of made calls that were expected."""

    def _weight(self, expected: FunctionCall, actual: FunctionCall) -> float:
        return float(self._rule.equal(expected, actual))

    def _score(
        self, calls: list[FunctionCall], expected_calls: list[FunctionCall], pairs: Mapping[int, tuple[int, float]]
    ) -> TurnScore:
        score = 2 * len(pairs) / (len(calls) + len(expected_calls))
        columns = {column for column, _ in pairs.values()}
        missing = [f"missing: {shown(call)}" for row, call in enumerate(expected_calls) if row not in pairs]
        extra = [f"not expected: {shown(call)}" for column, call in enumerate(calls) if column not in columns]
        return TurnScore(score, "; ".join([*missing, *extra]) or None)


class ToolArgumentMatchEvaluator(_AlignedEvaluator):
    """The share of expected arguments that were right, over expected calls; a call that was not made has none right."""

    def _weight(self, expected: FunctionCall, actual: FunctionCall) -> float:
        # A little above nothing, so that two calls of one tool are partners even if no argument is right.
        return max(self._share(expected, actual), 1e-9) if expected.name == actual.name else 0.0

    def _share(self, expected: FunctionCall, actual: FunctionCall) -> float:
        if self._rule.equal(expected, actual):
            return 1.0
        want: Mapping[str, Any] = expected.args or {}
        have: Mapping[str, Any] = actual.args or {}
        keys = {*want, *have}
        right = sum(1 for key in keys if key in want and key in have and want[key] == have[key])
        return right / len(keys) if keys else 1.0

    def _score(
        self, calls: list[FunctionCall], expected_calls: list[FunctionCall], pairs: Mapping[int, tuple[int, float]]
    ) -> TurnScore:
        if not expected_calls:
            return TurnScore(0.0, f"not expected: {shown(calls[0])}")
        shares = [
            self._share(call, calls[pairs[row][0]]) if row in pairs else 0.0 for row, call in enumerate(expected_calls)
        ]
        problems = [
            self._rule.difference(call, calls[pairs[row][0]]) if row in pairs else f"missing: {shown(call)}"
            for row, call in enumerate(expected_calls)
        ]
        return TurnScore(mean(shares), "; ".join(filter(None, problems)) or None)
