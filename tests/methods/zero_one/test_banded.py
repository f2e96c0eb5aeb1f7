"""Many rows: the window of a pencil against counting, the smooth loss against differences, bands whose losses are true."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mipclass.methods.zero_one import banded
from mipclass.methods.zero_one.csa import Swaps, swap_search
from mipclass.methods.zero_one.kernels.pencil import rule_at, work_arrays
from mipclass.methods.zero_one.kernels.window import Band, is_inside, sweep_inside, window
from mipclass.methods.zero_one.local import LineSearches, local_search
from mipclass.methods.zero_one.pcs import prioritised_search
from mipclass.methods.zero_one.prepared import WeightedRows, count_loss, prepare
from mipclass.methods.zero_one.smoothed import SigmoidLoss, smoothed_rule
from mipclass.methods.zero_one.starts import least_squares_rule
from mipclass.numeric.random import random_state
from tests.truth.zero_one import KINDS, tiny_instance


def unit_rows(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    rows = rng.standard_normal((n, m))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def rotated(rng: np.random.Generator, v: np.ndarray, angle: float) -> np.ndarray:
    across = rng.standard_normal(len(v))
    across -= (across @ v) * v
    return np.cos(angle) * v + np.sin(angle) * across / np.linalg.norm(across)


def noisy_problem(n: int, d: int, seed: int) -> WeightedRows:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X @ rng.standard_normal(d) + 1.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return prepare(X, y)


@given(seed=st.integers(0, 10**6), n=st.integers(5, 80), sine=st.floats(0.02, 0.7))
@settings(max_examples=150, deadline=None)
def test_sweep_inside_finds_the_least_loss_of_the_window(seed, n, sine):
    rng = np.random.default_rng(seed)
    rows, weights = unit_rows(rng, n, 4), rng.integers(1, 4, n).astype(float)
    centre = rows[0] - rows[1]
    centre /= np.linalg.norm(centre)
    near = np.abs(rows @ centre) < sine
    angle = np.arcsin(sine)
    w = rotated(rng, centre, angle * rng.random())
    u = rotated(rng, w, np.pi / 2)
    outside = float(weights[~near & (rows @ centre <= 0)].sum())
    band = Band(centre, float(np.cos(angle)), outside, 0.1)
    low, high = window(band, w, u)
    assert low <= 0.0 <= high
    for p, inside in ((low + 1e-6, True), (high - 1e-6, True), (low - 1e-6, False), (high + 1e-6, False)):
        if high - low > 1e-5 and abs(p) < 0.9:
            assert is_inside(band, rule_at(p, 1.0, w, u)) == inside
    Z, c = np.ascontiguousarray(rows[near]), weights[near]
    a, b = Z @ w, Z @ u
    loss, p_low, p_high, side = sweep_inside(
        a, b, c, 0.0, np.inf, False, band, w, u, random_state(seed), work_arrays(len(Z))
    )
    turns = np.sort(-a * np.sign(b) / (np.abs(a) + np.abs(b)))
    turns = turns[(turns > low) & (turns < high)]
    ends = np.append(turns, high)
    truth = [count_loss(rows, weights, rule_at(0.5 * (p + q), 1.0, w, u)) for p, q in pairwise(ends) if q - p > 1e-9]
    assert loss == min(truth, default=np.inf)
    if truth:
        assert low < p_low < p_high <= high
        assert side == 1.0


def test_smooth_loss_has_the_gradient_of_its_differences():
    rng = np.random.default_rng(0)
    rows, v = unit_rows(rng, 200, 5), rng.standard_normal(5)
    loss = SigmoidLoss(rows, rng.integers(1, 4, 200).astype(float), v, None)
    value, gradient = loss(v)
    step = 1e-6
    differences = [(loss(v + step * e)[0] - loss(v - step * e)[0]) / (2 * step) for e in np.eye(5)]
    assert gradient == pytest.approx(differences, rel=1e-5)
    margins = rows @ v / np.linalg.norm(v)
    assert value == pytest.approx(float(loss.weights @ (1 / (1 + np.exp(loss.K * margins)))))


def test_smooth_descent_lowers_the_loss_and_counts_truly():
    rows = noisy_problem(4000, 8, 0)
    v = np.eye(rows.unit.shape[1])[0]
    rule, loss = smoothed_rule(rows.unit, rows.weights, v)
    assert loss == count_loss(rows.unit, rows.weights, rule)
    assert loss < 0.8 * count_loss(rows.unit, rows.weights, v)
    assert smoothed_rule(rows.unit, rows.weights, v, stop=lambda: True)[1] == np.inf


@pytest.mark.parametrize("seed", range(5))
def test_losses_inside_a_band_are_losses_of_all_rows(seed):
    rows = noisy_problem(3000, 6, seed)
    v, _ = smoothed_rule(rows.unit, rows.weights, np.eye(7)[0])
    state = random_state(seed)

    def swaps(*where):
        return Swaps(*where, 50, False, state)

    def line_searches(*where):
        return LineSearches(*where, 50, state)

    for make in (swaps, line_searches):
        walk = banded._band_walk(rows.unit, rows.weights, v, 500, make)
        before = walk.loss
        assert len(walk.unit) < 0.2 * len(rows.unit)
        for _ in range(20):
            walk.go(50)
            assert walk.loss == count_loss(rows.unit, rows.weights, walk.best)
        assert walk.loss < before


@pytest.mark.parametrize("search", [swap_search, local_search])
@pytest.mark.parametrize("kind", KINDS)
def test_few_rows_by_the_way_of_many_are_near_the_optimum_and_never_below(monkeypatch, search, kind):
    monkeypatch.setattr(banded, "MANY_ROWS", 0)
    monkeypatch.setattr(banded, "MANY_ENTRIES", 0)
    monkeypatch.setattr(banded, "SAMPLE_ROWS", 10)
    at_optimum = 0
    for seed in range(20):
        data = prepare(*tiny_instance(seed, kind))
        best = prioritised_search(data).loss
        got = search(data, None, seed, steps=600, patience=30)
        assert data.value(got.loss) == data.loss(got.w) >= data.value(best)
        at_optimum += got.loss == best
    assert at_optimum >= 16


@pytest.mark.parametrize("search", [swap_search, local_search])
def test_many_rows_repeat_stop_and_beat_the_smooth_descent(search):
    rows = noisy_problem(12_000, 10, 1)
    got = search(rows, None, 3, steps=1500, patience=200)
    again = search(rows, None, 3, steps=1500, patience=200)
    assert np.array_equal(got.w, again.w)
    assert got.loss == rows.cost(got.w)
    assert got.steps <= 1500
    stopped = search(rows, None, 3, steps=1500, stop=lambda: True)
    assert stopped.steps == 0
    _, smooth_loss = smoothed_rule(rows.unit, rows.weights, rows.direction(least_squares_rule(rows.Z, rows.weights)))
    assert got.loss < smooth_loss


def test_searches_over_fewer_rows_begin_with_the_smooth_descent():
    rows = noisy_problem(1000, 40, 0)
    start = least_squares_rule(rows.Z, rows.weights)
    _, loss = smoothed_rule(rows.unit, rows.weights, rows.direction(start))
    assert swap_search(rows, start, steps=100).loss <= loss
    assert local_search(rows, start, steps=100).loss <= loss
    assert swap_search(rows, start, steps=100, strict=True).loss > loss
