"""CCCP and the coordinate descent behind it, against liblinear and against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from mipclass import models, solve
from mipclass.methods.robust_svm.cccp import concave_convex
from mipclass.methods.robust_svm.kernels.dual_coordinate import MultiplierBounds, kernel_descent
from mipclass.protocol.run import Run
from tests.truth.outlier_path import form_of, noisy, ramp_objective


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("intercept", [False, "penalised"])
def test_the_svm_is_liblinears(C, intercept):
    X, y = noisy(150, 4, 0)
    model = models.robust_svm(X, y, C, theta=1.0, intercept=intercept)
    ours = solve(model, "cccp", options={"candidates": 1, "tolerance": 1e-8})
    columns = np.hstack([X, np.ones((150, 1))]) if intercept else X
    peer = LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-9, max_iter=10**6).fit(columns, y)
    w = np.append(ours.values["w"], ours.values["b"]) if intercept else ours.values["w"]
    np.testing.assert_allclose(w, peer.coef_[0], atol=1e-5)
    exact = solve(model, "outlier-path")
    assert exact.claim == "proven"
    assert ours.objective == pytest.approx(exact.objective, rel=1e-8)


@pytest.mark.parametrize("parameter", ["theta", "s"])
@pytest.mark.parametrize("kernel", [None, models.Kernel("rbf")])
def test_it_stops_at_a_partition_that_repeats_itself(parameter, kernel):
    X, y = noisy(120, 3, 1, flip=0.25)
    model = models.robust_svm(X, y, 1.0, kernel=kernel)
    result = solve(model, "cccp", options={"path": parameter, "tolerance": 1e-8})
    assert result.recounted
    candidates = result.extra["candidates"]
    assert len(candidates) == 5
    K = X @ X.T if kernel is None else kernel.gram(X, X)
    for candidate in candidates:
        f = K @ (y * candidate.alpha)
        # The first s is the smallest margin itself: whether rounding puts that point below it is open.
        decided = np.abs(y * f - candidate.s) > 1e-12
        np.testing.assert_array_equal(candidate.outliers[decided], (y * f < candidate.s)[decided])
        assert (~decided).sum() <= 1
        truth = ramp_objective(K, y, candidate.alpha, 1.0, candidate.theta, candidate.s)
        assert candidate.objective == pytest.approx(truth, rel=1e-8)
        eta = (1.0 - candidate.theta) * candidate.outliers
        assert (candidate.alpha >= -eta - 1e-12).all()
        assert (candidate.alpha <= 1.0 - eta + 1e-12).all()
        gradient = y * f - 1.0
        inside = (candidate.alpha > -eta + 1e-9) & (candidate.alpha < 1.0 - eta - 1e-9)
        assert np.abs(gradient[inside]).max(initial=0.0) <= 1e-6


def test_the_first_candidate_is_the_svm():
    X, y = noisy(80, 3, 2)
    for parameter in ("theta", "s"):
        result = solve(models.robust_svm(X, y), "cccp", options={"path": parameter, "tolerance": 1e-8})
        svm = solve(models.robust_svm(X, y, theta=1.0), "cccp", options={"candidates": 1, "tolerance": 1e-8})
        first = result.extra["candidates"][0]
        w = X.T @ (y * first.alpha)
        np.testing.assert_allclose(w, svm.values["w"], atol=1e-5)


def test_a_time_limit_returns_what_there_is():
    X, y = noisy(3000, 20, 3, flip=0.3)
    result = solve(models.robust_svm(X, y, 100.0), "cccp", time_limit=0.05, options={"tolerance": 1e-10})
    assert result.status == "time_limit"
    assert result.recounted


@pytest.mark.parametrize("kernel", [None, models.Kernel("rbf")])
def test_it_may_start_at_a_known_svm(kernel):
    X, y = noisy(80, 3, 2)
    robust = form_of(models.robust_svm(X, y, kernel=kernel))
    found, _ = concave_convex(robust, Run.quiet(), "s", tolerance=1e-9)
    again, _ = concave_convex(robust, Run.quiet(), "s", tolerance=1e-9, start=found[0].alpha)
    assert [c.objective for c in again] == pytest.approx([c.objective for c in found], rel=1e-8)


@pytest.mark.parametrize("C", [0.5, 1.0, 4.0])
def test_descent_on_a_kernel_matrix_stops_at_its_tolerance(C):
    """With C Q_ii = 1 first steps end a hair below the bound; those multipliers once kept the descent going to full accuracy."""
    X, y = noisy(300, 3, 4, flip=0.2)
    Q = y[:, None] * models.Kernel("rbf").gram(X, X) * y
    Q[np.diag_indices(300)] += 1e-11
    box = MultiplierBounds(np.zeros(300), np.full(300, C))
    used = []
    for tolerance in (1e-1, 1e-3, 1e-8):
        a, m = np.zeros(300), np.zeros(300)
        used.append(kernel_descent(Q, box, a, m, np.diagonal(Q).copy(), tolerance, 10**6))
        gradient = 1.0 - Q @ a
        blocked = ((a == 0.0) & (gradient < 0.0)) | ((a == C) & (gradient > 0.0))
        assert np.abs(gradient[~blocked]).max() <= 1.001 * tolerance
        assert a.min() >= 0.0
        assert a.max() <= C
    assert used[0] < 0.8 * used[1] < 0.64 * used[2]
