"""Local search: the pencil sweep against counting arc by arc, and a search that only ever improves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mipclass.methods.zero_one.kernels.pencil import rule_at, sweep, work_arrays
from mipclass.methods.zero_one.local import local_search
from mipclass.methods.zero_one.prepared import WeightedRows, count_loss
from mipclass.numeric.random import random_state


def signed_rows(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return y[:, None] * np.column_stack([X, np.ones(len(X))])


def least_loss_on_circle(a: np.ndarray, b: np.ndarray, weights: np.ndarray) -> float:
    """The slow twin: the loss in the middle of every arc between two breakpoints of a + t b on the circle."""
    moving = np.abs(a) + np.abs(b) > 0
    angles = np.arctan2(-a[moving], b[moving])
    angles = np.unique(np.round(np.concatenate([angles, angles + np.pi]) % (2 * np.pi), 9))
    middles = angles + np.diff(np.append(angles, angles[0] + 2 * np.pi)) / 2
    margins = np.outer(np.cos(middles), a[moving]) + np.outer(np.sin(middles), b[moving])
    return float(((margins <= 0) * weights[moving]).sum(axis=1).min())


@given(seed=st.integers(0, 10**6), n=st.integers(1, 60), lattice=st.booleans())
@settings(max_examples=150, deadline=None)
def test_sweep_finds_the_least_loss_of_the_circle(seed, n, lattice):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-2, 3, (2, n)).astype(float) if lattice else rng.standard_normal((2, n))
    weights = rng.integers(1, 4, n).astype(float)
    if not np.any(np.abs(a) + np.abs(b)):
        return
    loss, low, high, side = sweep(a, b, weights, 0.0, np.inf, False, random_state(seed), work_arrays(n))
    assert loss == least_loss_on_circle(a, b, weights)
    moving = np.abs(a) + np.abs(b) > 0
    for share in (0.01, 0.5, 0.99):  # the whole arc has that loss
        c, s = rule_at(low + share * (high - low), side, np.array([1.0, 0.0]), np.array([0.0, 1.0]))
        assert weights[moving][(c * a + s * b)[moving] <= 0].sum() == loss
    below = sweep(a, b, weights, 0.0, loss - 0.5, False, random_state(seed), work_arrays(n))
    assert below[0] == np.inf


def test_sweep_can_leave_out_the_current_arc():
    a, b = np.array([1.0, -1.0, 1.0]), np.array([0.5, 1.0, 0.0])
    loss, low, high, side = sweep(a, b, np.ones(3), 0.0, 1.0, True, random_state(0), work_arrays(3))
    assert loss == 0
    assert side == 1
    assert 0 < low < high


def test_search_improves_repeats_and_counts_truly():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 4)) * [1, 100, 0.01, 1] + [0, 1e4, 0, 0]
    y = np.where(X[:, 0] + X[:, 1] / 100 - 100 + rng.standard_normal(300) > 0, 1.0, -1.0)
    y[:20] = 1.0
    Z, weights = signed_rows(X, y), rng.integers(1, 4, 300).astype(float)
    start = np.array([1.0, 0, 0, 0, 0.2])
    once = local_search(WeightedRows(Z, weights), start, 5, steps=3000)
    again = local_search(WeightedRows(Z, weights), start, np.random.default_rng(5), steps=3000)
    assert once.loss == weights[Z @ once.w <= 0].sum() < count_loss(Z, weights, start)
    assert np.array_equal(once.w, again.w)


def test_search_stops_when_told_and_keeps_the_start():
    rng = np.random.default_rng(0)
    Z = signed_rows(rng.standard_normal((50, 2)), rng.choice([-1.0, 1.0], 50))
    start = np.array([1.0, 0.0, 0.0])
    got = local_search(WeightedRows(Z, np.ones(50)), start, 0, stop=lambda: True)
    assert got.steps == 0
    assert got.loss == min(count_loss(Z, np.ones(50), start), count_loss(Z, np.ones(50), -start))


@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 1), (5, 3), (4, 8)])
def test_tiny_data(n, d):
    rng = np.random.default_rng(n)
    Z = signed_rows(rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n))
    got = local_search(WeightedRows(Z, np.ones(n)), None, 0, steps=200)
    assert got.loss == count_loss(Z, np.ones(n), got.w)
    if n <= d:
        assert got.loss == 0
