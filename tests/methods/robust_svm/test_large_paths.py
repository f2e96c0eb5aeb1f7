"""Paths on working sets: every breakpoint holds for all points, and costs do not grow with the points far away."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mipclass import models, solve
from mipclass.methods.robust_svm import ball, ball_sets, working_set
from mipclass.methods.robust_svm.errors_along import errors_along
from mipclass.methods.robust_svm.kernels import nearness
from tests.truth.outlier_path import gram_of, noisy, ramp_objective, worst_condition


def small_sets(monkeypatch):
    """Working sets that are far smaller than the data, as if there were a hundred times as many points."""
    monkeypatch.setattr(ball_sets, "FIRST_SIZE", 60)
    monkeypatch.setattr(ball_sets, "SMALLEST", 30)
    monkeypatch.setattr(ball_sets, "WHOLE", 0.9)


@pytest.mark.parametrize("parameter", ["theta", "s"])
@pytest.mark.parametrize(("n", "d", "C", "seed"), [(400, 3, 1.0, 0), (700, 6, 0.1, 1), (500, 4, 10.0, 2)])
def test_breakpoints_found_in_small_balls_hold_for_all_points(parameter, n, d, C, seed, monkeypatch):
    X, y = noisy(n, d, seed, flip=0.2)
    model = models.robust_svm(X, y, C, intercept="penalised")
    whole = solve(model, "outlier-path", options={"path": parameter}).extra["path"]
    small_sets(monkeypatch)
    balls = []
    choose = ball_sets.BallSets.take
    monkeypatch.setattr(
        ball_sets.BallSets, "take", lambda self, batch: balls.append(batch.is_whole) or choose(self, batch)
    )
    path = solve(model, "outlier-path", options={"path": parameter}).extra["path"]
    assert path.complete
    assert not all(balls)
    assert len(path) == len(whole)
    np.testing.assert_allclose(path.values, whole.values, atol=1e-9)
    np.testing.assert_allclose(path.objective, whole.objective, rtol=1e-10)
    K = gram_of(model, X)
    for k in range(0, len(path), 7):
        alpha, theta, s = path.alpha(k), path.theta[k], path.s[k]
        assert worst_condition(K, path.y, alpha, path.C, theta, s, path.outliers(k)) <= 1e-8
        assert path.objective[k] == pytest.approx(ramp_objective(K, path.y, alpha, path.C, theta, s), rel=1e-9)


@pytest.mark.parametrize(("n", "seed"), [(400, 1), (600, 6), (800, 1), (800, 8)])
def test_solutions_of_a_kernel_on_small_sets_hold_up_to_the_next_cut_off(n, seed, monkeypatch):
    """No inlier outside a working set may be passed by the cut-off on its way to the next breakpoint, even if the jump there lifts it again."""
    monkeypatch.setattr(working_set, "SMALLEST", 20)
    X, y = noisy(n, 5, seed)
    model = models.robust_svm(X, y, 1.0, kernel=models.Kernel("rbf"))
    batches = []
    choose = working_set.CheckedSets.take
    monkeypatch.setattr(
        working_set.CheckedSets, "take", lambda self, batch: batches.append(batch.is_whole) or choose(self, batch)
    )
    path = solve(model, "outlier-path", options={"path": "s"}).extra["path"]
    assert path.complete
    assert not all(batches)
    K = gram_of(model, X)
    for k in range(len(path)):
        alpha, out = path.alpha(k), path.outliers(k)
        assert worst_condition(K, path.y, alpha, path.C, path.theta[k], path.s[k], out) <= 1e-8
        margins = path.y * (K @ (path.y * alpha))
        assert margins[~out].min() >= path.s[min(k + 1, len(path) - 1)] - 1e-8


@pytest.mark.parametrize("parameter", ["theta", "s"])
def test_paths_with_many_active_points_miss_no_level(parameter):
    """More points are active than the first list of a leg has inactive ones, so that no radius may come from active points."""
    X, y = noisy(700, 230, 0)
    model = models.robust_svm(X, y, 1.0, intercept="penalised")
    result = solve(model, "outlier-path", options={"path": parameter})
    assert (result.status, result.claim) == ("optimal", "local")
    path, K = result.extra["path"], gram_of(model, X)
    active = [int(((path.alpha(k) > 0.0) & (path.alpha(k) < path.C)).sum()) for k in range(len(path))]
    assert max(active) > ball.FIRST_LISTED
    for k in range(0, len(path), 20):
        alpha, theta, s = path.alpha(k), path.theta[k], path.s[k]
        assert worst_condition(K, path.y, alpha, path.C, theta, s, path.outliers(k)) <= 1e-8


def test_a_large_path_costs_little_per_breakpoint():
    """What is stored for a breakpoint does not grow with n, and its conditions hold for all points."""
    X, y = noisy(12_000, 5, 3, flip=0.1)
    result = solve(models.robust_svm(X, y, 0.1), "outlier-path")
    assert (result.status, result.claim) == ("optimal", "local")
    path = result.extra["path"]
    stored = [path.steps.moved, path.steps.toggled, path.steps.restated]
    size = sum(part.start.nbytes + part.index.nbytes + part.value.nbytes for part in stored)
    assert size < 200_000 + 250 * len(path)  # bytes: the start of the path stores all points once
    for k in np.linspace(0, len(path) - 1, 12).astype(int):
        alpha, theta = path.alpha(k), path.theta[k]
        Z = path.y[:, None] * X
        m = Z @ (Z.T @ alpha)
        out = path.outliers(k)
        assert (m[out] <= 1e-7).all()
        np.testing.assert_allclose(alpha[out], 0.1 * theta, atol=1e-12)
        inside = ~out
        assert (m[inside & (alpha <= 0.0)] >= 1.0 - 1e-7).all()
        assert (m[inside & (alpha >= 0.1)] <= 1.0 + 1e-7).all()
        assert (m[inside] >= -1e-7).all()


def test_no_point_leaves_its_state_while_w_moves_less_than_its_slack():
    from mipclass.methods.robust_svm.kernels.partition import LEFT, OUT, RIGHT, DualSolution, Levels

    rng = np.random.default_rng(0)
    Z, w = rng.normal(size=(500, 4)), rng.normal(size=4)
    m = Z @ w
    state = np.where(m >= 1.0, RIGHT, np.where(m >= 0.0, LEFT, OUT)).astype(np.int8)
    levels = Levels(np.ones(500), np.zeros(500), np.ones(500), np.zeros(500))
    root = np.linalg.norm(Z, axis=1)
    slack = nearness.slacks(DualSolution(np.zeros(500), m, state), levels, np.full(500, -1), root, 0.0, 0.0)
    for _ in range(200):
        step = rng.normal(size=4)
        step *= rng.uniform(0.0, 0.5) / np.linalg.norm(step)
        after = Z @ (w + step)
        kept = np.where(
            state == RIGHT, after >= 1.0, np.where(state == LEFT, (after >= 0.0) & (after <= 1.0), after <= 0.0)
        )
        assert kept[slack >= np.linalg.norm(step)].all()
        assert (slack <= np.minimum(np.abs(m - 1.0), np.abs(m)) / root + 1e-12)[state == LEFT].all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 80), st.sampled_from([1e-6, 1e-2, 1.0]))
def test_errors_of_a_run_of_rules_are_those_of_each(seed, rules, points, step):
    from mipclass.methods.robust_svm import errors_along as module

    rng = np.random.default_rng(seed)
    W = np.cumsum(step * rng.normal(size=(rules, 3)), axis=0) + rng.normal(size=3)
    X, positive, weights = rng.normal(size=(points, 3)), rng.random(points) < 0.5, rng.random(points)
    X[rng.random(points) < 0.1] = 0.0
    before, module.AT_ONCE = module.AT_ONCE, 4
    try:
        found = errors_along(W, X, positive, weights)
    finally:
        module.AT_ONCE = before
    np.testing.assert_allclose(found, ((W @ X.T > 0) != positive) @ weights, atol=1e-12)


@pytest.mark.parametrize("parameter", ["theta", "s"])
def test_a_thinned_path_keeps_its_ends_and_what_it_stores_is_exact(parameter):
    X, y = noisy(500, 4, 5, flip=0.2)
    model = models.robust_svm(X, y, 1.0)
    whole = solve(model, "outlier-path", options={"path": parameter}).extra["path"]
    result = solve(model, "outlier-path", options={"path": parameter, "breakpoints": 10})
    path = result.extra["path"]
    assert path.complete
    assert path.is_thinned
    assert not whole.is_thinned
    assert len(path) <= 10
    assert path.values[0] == whole.values[0]
    assert path.values[-1] == whole.values[-1]
    assert result.claim == "local"
    np.testing.assert_allclose(path.alpha(-1), whole.alpha(-1), atol=1e-10)
    assert path.n_outliers()[-1] == path.last_outliers == whole.n_outliers()[-1]
    K = gram_of(model, X)
    for k in range(len(path)):
        j = int(np.flatnonzero((whole.values == path.values[k]) & (whole.event == path.event[k]))[0])
        np.testing.assert_allclose(path.alpha(k), whole.alpha(j), atol=1e-10)
        assert (path.outliers(k) == whole.outliers(j)).all()
        sets, expected = path.sets(k), whole.sets(j)
        assert all((sets[name] == expected[name]).all() for name in expected)
        alpha, theta, s = path.alpha(k), path.theta[k], path.s[k]
        assert worst_condition(K, path.y, alpha, path.C, theta, s, path.outliers(k)) <= 1e-8


@pytest.mark.parametrize("parameter", ["theta", "s"])
def test_how_far_multipliers_travel_is_summed_without_all_of_them(parameter):
    X, y = noisy(150, 3, 6, flip=0.3)
    path = solve(models.robust_svm(X, y, 1.0), "outlier-path", options={"path": parameter}).extra["path"]
    expected = np.abs(np.diff(path.multipliers(np.arange(150)), axis=0)).sum(axis=0)
    np.testing.assert_allclose(path.travelled(), expected, atol=1e-10)
