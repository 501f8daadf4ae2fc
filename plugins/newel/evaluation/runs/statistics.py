"""Statistics of runs: rates with intervals, means with intervals, tests of a change."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

#: The normal quantile of a 95 % interval.
_Z = 1.959963984540054
SAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval; no interval with fewer than two observations."""

    value: float
    n: int
    low: float | None = None
    high: float | None = None
    method: str = ""


def pass_at_k(n: int, passed: int, k: int) -> float:
    """The chance that at least one of `k` of `n` tries passes."""
    return 1.0 - math.comb(n - passed, k) / math.comb(n, k)


def pass_hat_k(n: int, passed: int, k: int) -> float:
    """The chance that all of `k` of `n` tries pass."""
    return math.comb(passed, k) / math.comb(n, k)


def wilson(passed: int, n: int) -> Estimate:
    """A pass rate with Wilson's score interval."""
    if n == 0:
        return Estimate(0.0, 0)
    rate = passed / n
    if n < 2:
        return Estimate(rate, n)
    middle = (rate + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * math.sqrt(rate * (1 - rate) / n + _Z**2 / (4 * n**2))
    return Estimate(rate, n, max(0.0, middle - half), min(1.0, middle + half), "Wilson score, 95 %")


def bootstrap_mean(values: Sequence[float], seed: int = 0, samples: int = SAMPLES) -> Estimate:
    """A mean with the percentile interval of a seeded bootstrap; one value for each case."""
    n = len(values)
    if n == 0:
        return Estimate(0.0, 0)
    mean = math.fsum(values) / n
    if n < 2:
        return Estimate(mean, n)
    means = sorted(_resampled(values, random.Random(seed), samples))  # noqa: S311 - repeatable, not secret
    return Estimate(
        mean, n, _percentile(means, 0.025), _percentile(means, 0.975), f"percentile bootstrap over cases, {samples}"
    )


def _resampled(values: Sequence[float], chance: random.Random, samples: int) -> list[float]:
    n = len(values)
    return [math.fsum(chance.choices(values, k=n)) / n for _ in range(samples)]


def _percentile(ordered: Sequence[float], share: float) -> float:
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """The two-sided p of McNemar's exact test: of the pairs that differ, are both ways as likely?"""
    n = only_first + only_second
    if n == 0:
        return 1.0
    tail = sum(math.comb(n, k) for k in range(min(only_first, only_second) + 1)) / float(2**n)
    return min(1.0, 2 * tail)


def paired_bootstrap(differences: Sequence[float], seed: int = 0, samples: int = SAMPLES) -> tuple[Estimate, float]:
    """The mean of paired differences with its interval, and the two-sided p value of no difference."""
    estimate = bootstrap_mean(differences, seed, samples)
    if estimate.low is None or all(d == 0 for d in differences):
        return estimate, 1.0
    means = _resampled(differences, random.Random(seed), samples)  # noqa: S311 - repeatable, not secret
    below = sum(m <= 0 for m in means)
    above = sum(m >= 0 for m in means)
    return estimate, min(1.0, 2 * (min(below, above) + 1) / (samples + 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values after Holm's correction, in their order."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = highest
    return corrected


def kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """Cohen's kappa of two raters; None without pairs, 1 if both always give the same single answer."""
    n = len(pairs)
    if n == 0:
        return None
    agree = sum(a == b for a, b in pairs) / n
    first, second = sum(a for a, _ in pairs) / n, sum(b for _, b in pairs) / n
    chance = first * second + (1 - first) * (1 - second)
    return 1.0 if chance == 1.0 else (agree - chance) / (1 - chance)
