"""Costs as whole numbers: exact sums, counts, and finer grids."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mipclass.methods.zero_one.costs import COUNT_BITS, count_costs, exact_costs
from mipclass.methods.zero_one.prepared import prepare

weights_lists = st.lists(st.floats(0, 1e300, allow_subnormal=True), min_size=1, max_size=12)


@given(weights_lists)
def test_whole_costs_equal_the_floats(weights):
    costs = exact_costs(np.array(weights))
    assert [costs.unit * int(k) for k in costs.whole] == [Fraction(w) for w in weights]
    assert costs.total == sum(map(Fraction, weights))


@given(weights_lists)
def test_counts_are_exact_or_below_by_less_than_one(weights):
    costs = exact_costs(np.array(weights))
    counts = count_costs(costs)
    short = [Fraction(w) - counts.unit * int(k) for w, k in zip(weights, counts.counts, strict=True)]
    assert all(0 <= rest < counts.unit for rest in short)
    assert counts.is_exact == (not any(short))
    assert int(counts.counts.sum()) < 2**COUNT_BITS


def test_costs_are_divided_by_their_common_measure():
    counts = count_costs(exact_costs(np.array([0.5, 1.5, 3.0])))
    assert (counts.counts.tolist(), counts.unit, counts.is_exact) == ([1, 3, 6], Fraction(1, 2), True)
    small = count_costs(exact_costs(np.full(5, 1e-12)))
    assert (small.counts.tolist(), small.unit) == ([1] * 5, Fraction(1e-12))


def test_a_cap_makes_room_for_finer_units():
    costs = exact_costs(np.array([1e30, 1e-3, 1 / 3e3]))
    coarse = count_costs(costs)
    assert coarse.counts.tolist()[1:] == [0, 0]
    fine = count_costs(costs, int(Fraction(2e-3) / costs.unit))
    assert fine.unit < Fraction(1, 10**15)
    assert all(fine.unit * int(k) <= Fraction(w) for k, w in zip(fine.counts, [1e30, 1e-3, 1 / 3e3], strict=True))


@given(seed=st.integers(0, 10**6), cancel=st.booleans())
@settings(max_examples=40, deadline=None)
def test_merging_adds_and_cancels_exactly(seed, cancel):
    rng = np.random.default_rng(seed)
    n = 20
    X, y = rng.integers(0, 2, (n, 2)).astype(float), rng.choice([-1.0, 1.0], n)
    weights = 10.0 ** rng.uniform(-8, 8, n)
    data = prepare(X, y, weights, cancel=cancel)
    W = rng.standard_normal(len(data.columns) + 1)
    w, b = data.rule(W)
    wrong = y * (X @ w + b) <= 0
    exact = data.constant + data.masses.sum(data.Z @ W <= 0)
    assert exact == sum((Fraction(float(c)) for c in weights[wrong]), Fraction(0))


def test_rounding_that_shows_in_a_rules_cost_is_refined_away():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    data = prepare(X, np.array([1.0, -1.0, 1.0, -1.0]), np.array([1e20, 1e20, 1e-20, 1e-20 / 3]))
    W = np.array([-1.0, 0.5])  # wrong at the third point alone
    assert data.cost(W) == 0
    finer = data.finer_for(W)
    assert finer.value(finer.cost(W)) == pytest.approx(1e-20, rel=1e-12)
    assert finer.finer_for(W) is None
