"""Statistics against known values and laws."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newel.evaluation.runs.statistics import (
    bootstrap_mean,
    holm,
    kappa,
    mcnemar_exact,
    paired_bootstrap,
    pass_at_k,
    pass_hat_k,
    wilson,
)


def test_wilson_has_the_textbook_interval() -> None:
    estimate = wilson(8, 10)
    assert (round(estimate.low or 0, 4), round(estimate.high or 0, 4)) == (0.4902, 0.9433)
    assert wilson(1, 1).low is None


@given(st.integers(2, 60), st.data())
def test_wilson_holds_its_rate(n: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, n))
    estimate = wilson(passed, n)
    assert estimate.low is not None
    assert estimate.high is not None
    assert 0 <= estimate.low <= estimate.value + 1e-12
    assert estimate.value <= estimate.high + 1e-12 <= 1 + 1e-9


@given(st.integers(1, 12), st.data())
def test_pass_at_k_counts_the_samples(n: int, data: st.DataObject) -> None:
    passed, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    one = math.comb(n - passed, k) / math.comb(n, k)
    assert pass_at_k(n, passed, k) == pytest.approx(1 - one)
    assert pass_hat_k(n, passed, k) <= pass_at_k(n, passed, k) + 1e-12


def test_mcnemar() -> None:
    assert mcnemar_exact(0, 0) == 1.0
    assert mcnemar_exact(0, 5) == pytest.approx(0.0625)
    assert mcnemar_exact(1, 9) == pytest.approx(0.021484375)


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


def test_kappa() -> None:
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    assert kappa(pairs) == pytest.approx(0.4)
    assert kappa([]) is None
    assert kappa([(True, True)]) == 1.0


def test_a_bootstrap_repeats_with_its_seed() -> None:
    values = [0.0, 0.2, 0.9, 1.0, 0.4]
    assert bootstrap_mean(values, 3) == bootstrap_mean(values, 3)
    assert bootstrap_mean([0.5]).low is None
    estimate, p = paired_bootstrap([0.0, 0.0, 0.0])
    assert (estimate.value, p) == (0.0, 1.0)
    assert paired_bootstrap([0.3, 0.2, 0.4, 0.3, 0.35, 0.2])[1] < 0.01
