"""SLA: the smooth loss and its gradient against slow twins, descent and probes that lower it, constants that count."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy.optimize import check_grad

from mipclass.methods.zero_one.kernels.exponential import exponential
from mipclass.methods.zero_one.kernels.sla import gradient, shifted_loss, smooth_loss
from mipclass.methods.zero_one.sla import SlaConstants, smooth_search
from mipclass.models import Sigmoid


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    y = np.where(X[:, 0] - X[:, 1] + 0.8 * rng.standard_normal(150) > 0, 1.0, -1.0)
    X[:15] += 8.0 * y[:15, None] * [-1, 1, 0]  # outliers on the wrong side pull every convex loss
    return y[:, None] * np.column_stack([X, np.ones(150)]), rng.integers(1, 4, 150).astype(float)


def test_exponential_to_two_units_in_the_last_place():
    @njit
    def each(x, out):
        for i in range(len(x)):
            out[i] = exponential(x[i])

    x = np.concatenate([np.linspace(-700, 700, 100_001), np.linspace(-1, 1, 100_001), [0.0, 1e-300, -1e-300]])
    got = np.empty_like(x)
    each(x, got)
    assert np.abs(got / np.exp(x) - 1.0).max() <= 4.5e-16
    assert got[-3] == 1.0


@pytest.mark.parametrize("K", [2.0, 20.0, 200.0])
def test_smooth_loss_and_gradient(rows, K):
    Z, weights = rows
    rng = np.random.default_rng(1)
    for _ in range(5):
        w = rng.standard_normal(4) / K
        margins = Z @ w
        assert smooth_loss(margins, weights, K) == pytest.approx(weights @ Sigmoid(K).of_margin(margins), rel=1e-12)

        def of(w):
            return weights @ Sigmoid(K).of_margin(Z @ w)

        def gradient_at(w):
            out = np.empty(4)
            gradient(np.ascontiguousarray(Z.T), Z @ w, weights, K, np.empty(len(Z)), out)
            return out

        assert check_grad(of, gradient_at, w, epsilon=1e-7 / K) < 1e-4 * K * weights.sum()


def test_a_probe_is_a_full_evaluation(rows):
    Z, weights = rows
    w = np.array([0.3, -0.2, 0.1, 0.05])
    for j, step in ((0, 0.4), (2, -0.6), (3, 8.0)):
        moved = w.copy()
        moved[j] += step
        full = smooth_loss(Z @ moved, weights, 20.0)
        column = np.ascontiguousarray(Z[:, j])
        assert shifted_loss(Z @ w, column, step, weights, 20.0, np.inf) == pytest.approx(full, rel=1e-12)
        assert shifted_loss(Z @ w, column, step, weights, 20.0, full * 0.5) == np.inf


def test_outliers_are_ignored_and_losses_are_true(rows):
    Z, weights = rows
    start = np.linalg.lstsq(Z, np.ones(len(Z)), rcond=None)[0]
    seen = []
    got = smooth_search(Z, weights, start, on_improvement=lambda w, loss, steps: seen.append(loss))
    assert got.loss == weights[Z @ got.w <= 0].sum() == seen[-1] < weights[Z @ start <= 0].sum()
    assert seen == sorted(seen, reverse=True)
    printed = smooth_search(Z, weights, start, polish=False)
    assert got.loss <= printed.loss
    assert np.array_equal(got.w, smooth_search(Z, weights, start).w)


def test_without_probes_it_is_plain_descent(rows):
    Z, weights = rows
    start = np.linalg.lstsq(Z, np.ones(len(Z)), rcond=None)[0]
    plain = smooth_search(Z, weights, start, SlaConstants(R_0=0.0), polish=False)
    probing = smooth_search(Z, weights, start, polish=False)
    assert plain.steps < probing.steps
    assert probing.loss <= plain.loss


def test_stop_returns_the_start(rows):
    Z, weights = rows
    start = np.array([1.0, 0.0, 0.0, 0.0])
    got = smooth_search(Z, weights, start, stop=lambda: True)
    assert np.array_equal(got.w, start)
    assert got.loss == weights[Z @ start <= 0].sum()
