"""Runs of an eval set next to each other: what passed, what it cost, and which changes may be chance."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from newel.evaluation.results.eval_result import EvalSetResult
from newel.evaluation.runs.comparison import Change, compare
from newel.evaluation.runs.statistics import Estimate
from newel.evaluation.runs.stored import units_of_results
from newel.evaluation.runs.summary import case_scores, summary_of
from newel.evaluation.runs.units import PASSED, UnitResult
from newel.server.calls import Call, endpoint
from newel.server.endpoints.evaluation import refusing, results_of, set_of
from newel.server.endpoints.sessions import Body


class LatestRuns(BaseModel):
    """How many runs are asked for: the latest."""

    limit: int = Field(6, ge=1, le=50)


class EstimateAnswer(Body):
    """A value with its 95 % interval, and over how many cases; no interval with fewer than two."""

    value: float
    n: int
    low: float | None
    high: float | None
    method: str


class CellAnswer(Body):
    """What became of a case in a run: how often it ran and passed, and the mean of its scores."""

    n: int
    passed: int
    score: float | None
    #: The mean of each metric.
    scores: dict[str, float]


class RunOfSetAnswer(Body):
    """A run: its cells by the ids of the cases."""

    id: str
    created: float
    repeats: int
    #: Cases that passed, each by the majority of its repeats.
    passed: int
    cases: int
    pass_rate: EstimateAnswer
    #: US dollars; None: no price is known.
    cost: float | None
    tokens: int
    cells: dict[str, CellAnswer]


class ChangeAnswer(Body):
    """How a figure moved between the last two runs, and how likely that is by chance (p, corrected for all figures)."""

    name: str
    before: float
    after: float
    difference: EstimateAnswer
    p: float
    regressed: bool


class RunsAnswer(Body):
    """The latest runs of a set, the oldest first, and what changed between the last two."""

    cases: list[str]
    runs: list[RunOfSetAnswer]
    changes: list[ChangeAnswer]
    regressions: list[str]
    fixes: list[str]


@endpoint(query=LatestRuns, answer=RunsAnswer)
@refusing
async def list_eval_runs(call: Call) -> object:
    """The latest runs of an eval set as a matrix, with intervals, cost, and the change between the last two."""
    eval_set = set_of(call)
    results = _latest(call, eval_set.eval_set_id)
    units = [[*units_of_results(one.eval_case_results)] for one in results]
    compared = compare(units[-2], units[-1]) if len(units) > 1 else None
    ids = [case.eval_id for case in eval_set.eval_cases]
    return RunsAnswer(
        cases=ids,
        runs=[_run(one, own) for one, own in zip(results, units, strict=True)],
        changes=[_change(one) for one in compared.changes] if compared is not None else [],
        regressions=[case for _, case in compared.regressions] if compared is not None else [],
        fixes=[case for _, case in compared.fixes] if compared is not None else [],
    )


def _latest(call: Call, set_id: str) -> list[EvalSetResult]:
    """The latest results of a set, the oldest first."""
    app, stored = call.path["app_name"], results_of(call)
    found = [stored.get_eval_set_result(app, name) for name in stored.list_eval_set_results(app)]
    own = sorted((one for one in found if one.eval_set_id == set_id), key=lambda one: one.creation_timestamp)
    return own[-call.query.limit :]


def _run(result: EvalSetResult, units: Sequence[UnitResult]) -> RunOfSetAnswer:
    summary, scores = summary_of(units), case_scores(units)
    tries: dict[str, list[bool]] = {}
    for unit in units:
        tries.setdefault(unit.key[1], []).append(unit.outcome == PASSED)
    cells = {}
    for case, passed in tries.items():
        own = {name: by_case[key] for name, by_case in scores.items() if (key := (result.eval_set_id, case)) in by_case}
        mean = sum(own.values()) / len(own) if own else None
        cells[case] = CellAnswer(n=len(passed), passed=sum(passed), score=mean, scores=own)
    return RunOfSetAnswer(
        id=result.eval_set_result_name or result.eval_set_result_id,
        created=result.creation_timestamp,
        repeats=summary.repeats,
        passed=sum(2 * one.passed > one.n for one in cells.values()),
        cases=len(cells),
        pass_rate=_estimate(summary.pass_rate),
        cost=summary.cost,
        tokens=summary.tokens,
        cells=cells,
    )


def _change(change: Change) -> ChangeAnswer:
    return ChangeAnswer(
        name=change.name,
        before=change.before,
        after=change.after,
        difference=_estimate(change.difference),
        p=change.corrected,
        regressed=change.regressed,
    )


def _estimate(one: Estimate) -> EstimateAnswer:
    return EstimateAnswer(value=one.value, n=one.n, low=one.low, high=one.high, method=one.method)
