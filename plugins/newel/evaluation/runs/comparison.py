"""Comparison of two runs, case by case: what became worse, what became better, and which changes may be chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from newel.evaluation.kinds import Metric
from newel.evaluation.plugins import plugin_registry
from newel.evaluation.runs.statistics import Estimate, holm, mcnemar_exact, paired_bootstrap
from newel.evaluation.runs.summary import Case, case_scores
from newel.evaluation.runs.units import PASSED, SKIPPED, XFAILED, XPASSED, UnitResult

#: Below this p value a difference is not taken for chance.
SIGNIFICANT = 0.05
#: The rate of passed cases, compared as a metric of its own.
RATE = "pass rate"
_GOOD = (PASSED, XFAILED, XPASSED)


@dataclass(frozen=True, slots=True)
class Change:
    """A metric of both runs: the means over the cases that both have, the mean difference, and its p value."""

    name: str
    before: float
    after: float
    difference: Estimate
    p: float
    #: After Holm's correction over everything that was compared.
    corrected: float
    #: Whether more of it is better.
    more_is_better: bool = True

    @property
    def drop(self) -> float:
        """By how much it became worse."""
        return self.before - self.after if self.more_is_better else self.after - self.before

    @property
    def regressed(self) -> bool:
        """Worse, and hardly by chance."""
        return self.drop > 0 and self.corrected < SIGNIFICANT


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences between two runs."""

    changes: list[Change]
    regressions: list[Case] = field(default_factory=list)
    fixes: list[Case] = field(default_factory=list)
    new: list[Case] = field(default_factory=list)
    gone: list[Case] = field(default_factory=list)
    paired: int = 0

    def failed(self, max_drop: float | None = None) -> bool:
        """Whether something regressed significantly, or a score dropped by more than `max_drop`."""
        if any(change.regressed for change in self.changes):
            return True
        judged = (change for change in self.changes if change.more_is_better)
        return max_drop is not None and any(change.drop > max_drop for change in judged)


def compare(before: Sequence[UnitResult], after: Sequence[UnitResult], seed: int = 0) -> Comparison:
    """Compare two runs over the cases that both have; repeats of a case count as their mean."""
    old, new = _passed(before), _passed(after)
    both = [case for case in old if case in new]
    changed = [(case, old[case], new[case]) for case in both]
    return Comparison(
        changes=_changes(before, after, old, new, both, seed),
        regressions=[case for case, a, b in changed if a and not b],
        fixes=[case for case, a, b in changed if b and not a],
        new=[case for case in new if case not in old],
        gone=[case for case in old if case not in new],
        paired=len(both),
    )


def _changes(
    before: Sequence[UnitResult],
    after: Sequence[UnitResult],
    old: dict[Case, bool],
    new: dict[Case, bool],
    both: Sequence[Case],
    seed: int,
) -> list[Change]:
    rows: list[tuple[str, list[float], list[float], bool]] = []
    first, second = case_scores(before), case_scores(after)
    metrics = {metric.name: metric for metric in plugin_registry().all(Metric)}
    for name in first:
        cases = [case for case in both if case in first[name] and case in second.get(name, {})]
        if cases:
            metric = metrics.get(name)
            better = metric is None or not metric.less_is_better
            rows.append((name, [first[name][c] for c in cases], [second[name][c] for c in cases], better))
    for name, figure in (("cost", _cost), ("seconds", _seconds), ("tokens", _tokens)):
        a, b = _by_case(before, figure), _by_case(after, figure)
        cases = [case for case in both if case in a and case in b]
        if cases and any(a[c] or b[c] for c in cases):
            rows.append((name, [a[c] for c in cases], [b[c] for c in cases], False))
    tested = [(name, a, b, up, *_tested(a, b, seed)) for name, a, b, up in rows]
    if both:
        rates = [float(old[c]) for c in both], [float(new[c]) for c in both]
        p = mcnemar_exact(sum(old[c] and not new[c] for c in both), sum(new[c] and not old[c] for c in both))
        tested.insert(0, (RATE, *rates, True, _tested(*rates, seed)[0], p))
    corrected = holm([one[-1] for one in tested])
    return [
        Change(name, sum(a) / len(a), sum(b) / len(b), difference, p, q, up)
        for (name, a, b, up, difference, p), q in zip(tested, corrected, strict=True)
    ]


def _tested(a: Sequence[float], b: Sequence[float], seed: int) -> tuple[Estimate, float]:
    return paired_bootstrap([two - one for one, two in zip(a, b, strict=True)], seed)


def _passed(units: Sequence[UnitResult]) -> dict[Case, bool]:
    """Whether each case passed, by the majority of its repeats."""
    tries: dict[Case, list[bool]] = {}
    for unit in units:
        if unit.outcome != SKIPPED:
            tries.setdefault(unit.key[:2], []).append(unit.outcome in _GOOD)
    return {case: 2 * sum(one) > len(one) for case, one in tries.items()}


def _by_case(units: Sequence[UnitResult], figure: Callable[[UnitResult], float | None]) -> dict[Case, float]:
    by_case: dict[Case, list[float]] = {}
    for unit in units:
        value = figure(unit)
        if value is not None:
            by_case.setdefault(unit.key[:2], []).append(value)
    return {case: sum(values) / len(values) for case, values in by_case.items()}


def _cost(unit: UnitResult) -> float | None:
    return unit.accounts.cost


def _seconds(unit: UnitResult) -> float | None:
    return unit.accounts.seconds or None


def _tokens(unit: UnitResult) -> float | None:
    return float(unit.accounts.tokens) or None
