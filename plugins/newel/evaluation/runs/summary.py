"""The summary of a run: counts, means with intervals, repeats, usage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from newel.evaluation.metrics.eval_metrics import EvalStatus
from newel.evaluation.metrics.scoring import mean
from newel.evaluation.runs.statistics import Estimate, bootstrap_mean, kappa, pass_at_k, pass_hat_k, wilson
from newel.evaluation.runs.units import ERROR, FAILED, PASSED, SKIPPED, XFAILED, XPASSED, UnitResult

Case = tuple[str, str]


@dataclass(slots=True)
class SetSummary:
    """The counts of one set; what could not be evaluated counts as failed, too."""

    set_id: str
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    xfailed: int = 0
    xpassed: int = 0

    def add(self, outcome: str) -> None:
        """Count a unit."""
        self.passed += outcome in (PASSED, XFAILED, XPASSED)
        self.failed += outcome in (FAILED, ERROR)
        self.errors += outcome == ERROR
        self.skipped += outcome == SKIPPED
        self.xfailed += outcome == XFAILED
        self.xpassed += outcome == XPASSED


@dataclass(slots=True)
class Summary:
    """The figures of a run."""

    sets: list[SetSummary] = field(default_factory=list)
    #: The share of cases that passed, each by the majority of its repeats; with Wilson's interval.
    pass_rate: Estimate = field(default_factory=lambda: Estimate(0.0, 0))
    #: The mean of each judged metric over cases, with a bootstrap interval.
    metrics: dict[str, Estimate] = field(default_factory=dict)
    repeats: int = 1
    #: The chance that one of k repeats passes, and that all do, over the cases that ran k times.
    pass_at: dict[int, float] = field(default_factory=dict)
    pass_hat: dict[int, float] = field(default_factory=dict)
    #: The share of cases of which some repeats pass and some do not.
    flaky: float = 0.0
    #: How far each labelled metric agrees with people: Cohen's kappa, and the number of results.
    agreement: dict[str, tuple[float, int]] = field(default_factory=dict)
    tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0


def summary_of(units: Sequence[UnitResult]) -> Summary:
    """The summary of some units."""
    summary = Summary(sets=_counts(units))
    tries: dict[Case, list[bool]] = {}
    for unit in units:
        if unit.outcome != SKIPPED:
            tries.setdefault(unit.key[:2], []).append(unit.outcome in (PASSED, XFAILED, XPASSED))
        summary.tokens += unit.accounts.tokens
        summary.seconds += unit.accounts.seconds
        if unit.accounts.cost is not None:
            summary.cost = (summary.cost or 0.0) + unit.accounts.cost
    summary.pass_rate = wilson(sum(2 * sum(one) > len(one) for one in tries.values()), len(tries))
    summary.metrics = _means(units)
    summary.agreement = _agreement(units)
    summary.repeats = max((len(one) for one in tries.values()), default=1)
    if tries:
        summary.flaky = sum(any(one) and not all(one) for one in tries.values()) / len(tries)
    for k in range(1, summary.repeats + 1):
        enough = [one for one in tries.values() if len(one) >= k]
        summary.pass_at[k] = mean(pass_at_k(len(one), sum(one), k) for one in enough) or 0.0
        summary.pass_hat[k] = mean(pass_hat_k(len(one), sum(one), k) for one in enough) or 0.0
    return summary


def _agreement(units: Sequence[UnitResult]) -> dict[str, tuple[float, int]]:
    pairs: dict[str, list[tuple[bool, bool]]] = {}
    for unit in units:
        for one in unit.result.overall_eval_metric_results:
            label = unit.labels.get(one.metric_name)
            if label is not None and one.eval_status in (EvalStatus.PASSED, EvalStatus.FAILED):
                pairs.setdefault(one.metric_name, []).append((label, one.eval_status is EvalStatus.PASSED))
    values = {name: (kappa(labels), len(labels)) for name, labels in pairs.items()}
    return {name: (value, n) for name, (value, n) in values.items() if value is not None}


def _counts(units: Sequence[UnitResult]) -> list[SetSummary]:
    sets: dict[str, SetSummary] = {}
    for unit in units:
        sets.setdefault(unit.key[0], SetSummary(unit.key[0])).add(unit.outcome)
    return list(sets.values())


def case_scores(units: Sequence[UnitResult]) -> dict[str, dict[Case, float]]:
    """The mean of each judged metric by case, over its repeats."""
    scores: dict[str, dict[Case, list[float]]] = {}
    for unit in units:
        for one in unit.result.overall_eval_metric_results:
            if one.score is not None and one.eval_status is not EvalStatus.INFORMATIONAL:
                scores.setdefault(one.metric_name, {}).setdefault(unit.key[:2], []).append(one.score)
    return {name: {case: sum(v) / len(v) for case, v in by_case.items()} for name, by_case in scores.items()}


def _means(units: Sequence[UnitResult]) -> dict[str, Estimate]:
    return {name: bootstrap_mean(list(by_case.values())) for name, by_case in case_scores(units).items()}
