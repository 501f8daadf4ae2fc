"""Partial credit for tool calls: `tool_trajectory_f1` and `tool_argument_match`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from newel.evaluation.alignment import best_alignment
from newel.evaluation.calls import CallRule, shown
from newel.evaluation.criteria import ToolTrajectoryCriterion
from newel.evaluation.eval_case import Invocation, get_all_tool_calls
from newel.evaluation.eval_metrics import EvalMetric
from newel.evaluation.scoring import TurnEvaluator, TurnScore, criterion_as, mean
from newel_types import FunctionCall


class _AlignedEvaluator(TurnEvaluator):
    """Pairs actual and expected calls one to one, as well as they can be paired."""

    criterion_type = ToolTrajectoryCriterion

    def __init__(self, threshold: float | None = None, eval_metric: EvalMetric | None = None) -> None:
        super().__init__(threshold, eval_metric)
        self._rule = CallRule.of(criterion_as(eval_metric, ToolTrajectoryCriterion))

    def score_turn(self, actual: Invocation, expected: Invocation | None) -> TurnScore:
        """Score the calls of one turn; nothing expected and nothing called is 1."""
        made = get_all_tool_calls(actual.intermediate_data)
        wanted = get_all_tool_calls(expected.intermediate_data if expected is not None else None)
        if not made and not wanted:
            return TurnScore(1.0)
        weights = [[self._weight(w, m) for m in made] for w in wanted]
        return self._score(made, wanted, {row: (c, weights[row][c]) for row, c in best_alignment(weights)})

    def _weight(self, wanted: FunctionCall, made: FunctionCall) -> float:
        raise NotImplementedError

    def _score(
        self, made: list[FunctionCall], wanted: list[FunctionCall], pairs: Mapping[int, tuple[int, float]]
    ) -> TurnScore:
        raise NotImplementedError


class ToolTrajectoryF1Evaluator(_AlignedEvaluator):
    """The harmonic mean of the share of expected calls that were made and of made calls that were expected."""

    def _weight(self, wanted: FunctionCall, made: FunctionCall) -> float:
        return float(self._rule.equal(wanted, made))

    def _score(
        self, made: list[FunctionCall], wanted: list[FunctionCall], pairs: Mapping[int, tuple[int, float]]
    ) -> TurnScore:
        score = 2 * len(pairs) / (len(made) + len(wanted))
        taken = {column for column, _ in pairs.values()}
        missing = [f"missing: {shown(call)}" for row, call in enumerate(wanted) if row not in pairs]
        extra = [f"not expected: {shown(call)}" for column, call in enumerate(made) if column not in taken]
        return TurnScore(score, "; ".join([*missing, *extra]) or None)


class ToolArgumentMatchEvaluator(_AlignedEvaluator):
    """The share of expected arguments that were right, over expected calls; a call that was not made has none."""

    def _weight(self, wanted: FunctionCall, made: FunctionCall) -> float:
        # A little above nothing, so that two calls of one tool are partners even where no argument is right.
        return max(self._share(wanted, made), 1e-9) if wanted.name == made.name else 0.0

    def _share(self, wanted: FunctionCall, made: FunctionCall) -> float:
        if self._rule.equal(wanted, made):
            return 1.0
        expected: Mapping[str, Any] = wanted.args or {}
        actual: Mapping[str, Any] = made.args or {}
        keys = {*expected, *actual}
        right = sum(1 for key in keys if key in expected and key in actual and expected[key] == actual[key])
        return right / len(keys) if keys else 1.0

    def _score(
        self, made: list[FunctionCall], wanted: list[FunctionCall], pairs: Mapping[int, tuple[int, float]]
    ) -> TurnScore:
        if not wanted:
            return TurnScore(0.0, f"not expected: {shown(made[0])}")
        shares = [self._share(call, made[pairs[row][0]]) if row in pairs else 0.0 for row, call in enumerate(wanted)]
        problems = [
            self._rule.difference(call, made[pairs[row][0]]) if row in pairs else f"missing: {shown(call)}"
            for row, call in enumerate(wanted)
        ]
        return TurnScore(mean(shares), "; ".join(filter(None, problems)) or None)
