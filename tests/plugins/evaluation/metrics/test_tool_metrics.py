"""Metrics of tool calls: modes, arguments, partial credit, explanations."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newel.evaluation.eval_metrics import EvalMetric, EvalStatus
from newel.evaluation.metrics.criteria import ToolTrajectoryCriterion
from newel.evaluation.metrics.trajectory.alignment import best_alignment
from newel.evaluation.metrics.trajectory.tool_quality import ToolArgumentMatchEvaluator, ToolTrajectoryF1Evaluator
from newel.evaluation.trajectory_evaluator import TrajectoryEvaluator


def judged(kit: Any, made: list[Any], wanted: list[Any], evaluator: Any = TrajectoryEvaluator, **criterion: Any) -> Any:
    metric = EvalMetric(metric_name="m", criterion=ToolTrajectoryCriterion(threshold=1.0, **criterion))
    result = evaluator(eval_metric=metric).evaluate_invocations(
        [kit.turn("q", calls=made)], [kit.turn("q", calls=wanted)]
    )
    return result.per_invocation_results[0]


A, B = ("a", {"i": 1}), ("b", {"j": 2})


@pytest.mark.parametrize(
    ("made", "wanted", "mode", "score"),
    [
        ([A], [A, B], "SUBSET", 1),
        ([A, A], [A, B], "SUBSET", 0),
        ([], [A], "SUBSET", 1),
        ([B, A], [A, B], "SUBSET", 1),
        ([B, A], [A], "SUPERSET", 1),
        ([B], [A], "SUPERSET", 0),
        ([A], [A, A], "SUPERSET", 0),
    ],
)
def test_modes_of_our_own(made: list[Any], wanted: list[Any], mode: str, score: float, kit: Any) -> None:
    assert judged(kit, made, wanted, match_type=mode).score == score


@pytest.mark.parametrize(
    ("made", "wanted", "criterion", "score"),
    [
        ({}, None, {}, 1),
        (None, {}, {}, 1),
        ({"x": 1}, None, {}, 0),
        (None, {"x": 1}, {}, 0),
        ({}, None, {"tools": {"t": {"mode": "exact"}}}, 1),
        ({"x": 1}, {"x": 1, "y": 2}, {"arguments": "subset"}, 1),
        ({"x": 1, "z": 3}, {"x": 1}, {"arguments": "subset"}, 0),
        ({"x": 1, "z": 3}, {"x": 1}, {"arguments": "superset"}, 1),
        ({"x": 1}, {"x": 2}, {"arguments": "ignore"}, 1),
        ({"x": 1, "noise": 9}, {"x": 1}, {"tools": {"t": {"keys": ["x"]}}}, 1),
        ({"x": "2024-05-01"}, {"x": "any"}, {"tools": {"t": {"regex": {"x": r"\d{4}-\d\d-\d\d"}}}}, 1),
        ({"x": "May"}, {"x": "any"}, {"tools": {"t": {"regex": {"x": r"\d{4}-\d\d-\d\d"}}}}, 0),
        ({"x": 1.04}, {"x": 1}, {"tools": {"t": {"tolerance": {"x": 0.05}}}}, 1),
        ({"x": 1.06}, {"x": 1}, {"tools": {"t": {"tolerance": {"x": 0.05}}}}, 0),
    ],
)
def test_arguments(made: Any, wanted: Any, criterion: Any, score: float, kit: Any) -> None:
    assert judged(kit, [("t", made)], [("t", wanted)], **criterion).score == score


@pytest.mark.parametrize(
    ("made", "wanted", "mode", "says"),
    [
        (
            [("t", {"a": {"b": [1, 3]}})],
            [("t", {"a": {"b": [1, 2]}})],
            "EXACT",
            r"args.a.b\[1\]: expected 2, but it was 3",
        ),
        ([A], [A, B], "EXACT", "call 2: expected b(j=2), but no further call was made"),
        ([A, B], [A], "EXACT", "call 2: b(j=2) was called, but no further call is expected"),
        ([("a", {"i": 7})], [A], "IN_ORDER", "the nearest: args.i: expected 1, but it was 7"),
        ([A], [B], "SUBSET", "not expected: a(i=1)"),
    ],
)
def test_a_failure_says_why(made: Any, wanted: Any, mode: str, says: str, kit: Any) -> None:
    explanation = judged(kit, made, wanted, match_type=mode).details.explanation
    assert says.replace("\\", "") in explanation


def test_f1_gives_partial_credit(kit: Any) -> None:
    result = judged(kit, [A, B, ("c", {})], [A, ("d", {})], ToolTrajectoryF1Evaluator)
    assert result.score == pytest.approx(2 / 5)
    assert result.details.explanation == "missing: d(); not expected: b(j=2); not expected: c()"
    assert judged(kit, [], [], ToolTrajectoryF1Evaluator).score == 1.0


def test_arguments_are_matched_with_the_best_partner_not_the_first(kit: Any) -> None:
    made = [("t", {"x": 1, "y": 2}), ("t", {"x": 1, "y": 3})]
    wanted = [("t", {"x": 1, "y": 3}), ("t", {"x": 9, "y": 2})]
    assert judged(kit, made, wanted, ToolArgumentMatchEvaluator).score == pytest.approx((1 + 0.5) / 2)


@given(st.lists(st.tuples(*[st.integers(0, 5)] * 3), min_size=1, max_size=4))
def test_an_alignment_is_the_heaviest(weights: list[tuple[int, int, int]]) -> None:
    rows, columns = len(weights), 3
    total = sum(weights[r][c] for r, c in best_alignment(weights))
    longer, shorter = max(rows, columns), min(rows, columns)
    best = max(
        sum(weights[r][c] for r, c in zip(*((range(rows), p) if rows <= columns else (p, range(columns))), strict=True))
        for p in permutations(range(longer), shorter)
    )
    assert total == best


def test_the_mean_is_held_against_the_threshold(kit: Any) -> None:
    metric = EvalMetric(metric_name="m", threshold=0.5)
    turns = [kit.turn("q", calls=[A]), kit.turn("q", calls=[B])]
    result = TrajectoryEvaluator(eval_metric=metric).evaluate_invocations(turns, [turns[0], turns[0]])
    assert (result.overall_score, result.overall_eval_status) == (0.5, EvalStatus.PASSED)
