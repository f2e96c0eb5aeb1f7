"""The outlier path: optimality of every stored solution recomputed from the data, jumps, QPs, global optima, bad input."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mipclass import models, solve
from mipclass.errors import InvalidInputError, MipclassWarning, OptionError, UnsupportedProgramError
from mipclass.methods.robust_svm.local_optimality import local_optimality
from mipclass.methods.robust_svm.outlier_path import follow_path
from mipclass.numeric import cholesky_update
from mipclass.protocol.run import Run
from tests.truth.outlier_path import RULES, binary, form_of, gram_of, noisy, ramp_objective, repeated, worst_condition

DATA = {
    "continuous": noisy(70, 4, 0),
    "binary": binary(80, 5, 0),
    "repeated": repeated(60, 3, 0),
    "tiny": noisy(6, 2, 0),
    "wide": noisy(15, 30, 0),
    "whole numbers": (np.round(2 * noisy(60, 3, 1)[0]), noisy(60, 3, 1)[1]),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", DATA)
def test_every_breakpoint_satisfies_the_kkt_conditions(name, rule):
    X, y = DATA[name]
    for C in (0.01, 1.0, 100.0):
        for parameter in ("theta", "s"):
            model = models.robust_svm(X, y, C, **RULES[rule])
            result = solve(model, "outlier-path", options={"path": parameter})
            path, K = result.extra["path"], gram_of(model, X)
            assert (result.status, result.claim, result.recounted) == ("optimal", "local", True)
            assert path.complete
            for k in range(len(path)):
                alpha, theta, s = path.alpha(k), path.theta[k], path.s[k]
                assert worst_condition(K, path.y, alpha, path.C, theta, s, path.outliers(k)) <= 1e-8
                assert path.objective[k] == pytest.approx(ramp_objective(K, path.y, alpha, path.C, theta, s), rel=1e-6)


@pytest.mark.parametrize("parameter", ["theta", "s"])
@pytest.mark.parametrize("rule", ["linear", "rbf"])
def test_a_jump_lowers_the_objective(parameter, rule):
    X, y = noisy(120, 5, 3, flip=0.25)
    model = models.robust_svm(X, y, 1.0, **RULES[rule])
    path = solve(model, "outlier-path", options={"path": parameter}).extra["path"]
    K = gram_of(model, X)
    jumps = np.flatnonzero(path.jumps)
    assert len(jumps) >= 3
    for k in jumps:
        before = ramp_objective(K, path.y, path.alpha(k - 1), path.C, path.theta[k], path.s[k])
        assert path.objective[k] < before


def test_theta_path_is_linear_between_breakpoints_and_s_path_constant():
    X, y = noisy(80, 4, 5, flip=0.25)
    model = models.robust_svm(X, y, 1.0)
    K = X @ X.T
    path = solve(model, "outlier-path").extra["path"]
    for theta in (0.93, 0.5, 0.13):
        alpha = path.at(theta)
        k = int(np.flatnonzero(path.theta >= theta)[-1])
        assert worst_condition(K, path.y, alpha, path.C, theta, 0.0, path.outliers(k)) <= 1e-8
    steps = solve(model, "outlier-path", options={"path": "s"}).extra["path"]
    middle = 0.5 * (steps.s[2] + steps.s[3])
    np.testing.assert_array_equal(steps.at(middle), steps.alpha(2))
    with pytest.raises(InvalidInputError, match="covers theta"):
        path.at(1.5)


def test_scores_of_all_breakpoints_and_sets():
    X, y = noisy(60, 3, 6)
    model = models.robust_svm(X, y, 1.0, kernel=models.Kernel("rbf"))
    path = solve(model, "outlier-path").extra["path"]
    new = noisy(10, 3, 7)[0]
    K = model.rule.gram(new, X)
    scores = path.scores(K)
    for k in (0, len(path) // 2, len(path) - 1):
        np.testing.assert_allclose(scores[k], K @ (path.y * path.alpha(k)), atol=1e-10)
        sets = path.sets(k)
        assert sum(map(len, sets.values())) == 60
        np.testing.assert_array_equal(sets["O"], np.flatnonzero(path.outliers(k)))
        np.testing.assert_allclose(path.alpha(k)[sets["L"]], 1.0, atol=1e-12)
        assert not path.alpha(k)[sets["R"]].any()
    np.testing.assert_allclose(path.errors(K, np.ones(10)), (scores <= 0).mean(axis=1))
    assert path.n_outliers()[-1] == path.outliers(-1).sum()


@pytest.mark.parametrize("d_step", ["homotopy", "primal-dual", "osqp", "cvxpy:CLARABEL"])
def test_d_steps_agree(d_step):
    X, y = noisy(60, 3, 8, flip=0.3)
    model = models.robust_svm(X, y, 1.0, kernel=models.Kernel("rbf"))
    reference = solve(model, "outlier-path", options={"path": "s", "d_step": "homotopy"}).extra["path"]
    path = solve(model, "outlier-path", options={"path": "s", "d_step": d_step}).extra["path"]
    assert path.complete
    assert path.objective[-1] == pytest.approx(reference.objective[-1], rel=1e-7)


@pytest.mark.parametrize("theta", [0.0, 0.4])
def test_conditional_qps_primal_and_dual_meet_and_match_the_path(theta):
    X, y = noisy(50, 3, 9, flip=0.3)
    model = models.robust_svm(X, y, 1.0, theta=theta)
    path = solve(model, "outlier-path").extra["path"]
    outliers, s = path.outliers(-1), 0.0
    primal = solve(models.conditional_svm(X, y, 1.0, theta, s, outliers=outliers), "cvxpy:CLARABEL")
    dual = solve(models.conditional_dual(X @ X.T, y, 1.0, theta, s, outliers=outliers), "cvxpy:CLARABEL")
    constant = (1.0 - s) * outliers.sum()
    assert primal.objective == pytest.approx(path.objective[-1], rel=1e-6)
    assert constant - dual.objective == pytest.approx(primal.objective, rel=1e-6)


def test_conditional_qp_with_active_ties():
    """A partition whose optimum is on the cut-off: alpha beyond C on I, below C theta on O; both forms agree."""
    X = np.array([[0.2], [-0.5], [0.3]])
    y = np.array([1, 1, -1])
    outliers = np.array([False, True, False])
    primal = solve(models.conditional_svm(X, y, 4.0, 0.0, -0.5, outliers=outliers), "cvxpy:CLARABEL")
    dual = solve(models.conditional_dual(X @ X.T, y, 4.0, 0.0, -0.5, outliers=outliers), "cvxpy:CLARABEL")
    assert 1.5 * 4.0 - dual.objective == pytest.approx(primal.objective, rel=1e-6)
    assert primal.values["w"][0] == pytest.approx(1.0, abs=1e-6)  # pushed to the cut-off of the outlier
    assert dual.values["alpha"][1] < -0.5


@pytest.mark.parametrize("seed", [0, 1])
def test_gap_to_the_global_optimum_is_never_negative(seed):
    X, y = noisy(16, 2, seed, flip=0.2)
    model = models.robust_svm(X, y, 1.0)
    best = solve(model, "scip", time_limit=60)
    assert best.claim == "proven"
    gaps = []
    for parameter in ("theta", "s"):
        found = solve(model, "outlier-path", options={"path": parameter})
        gaps.append(found.objective / best.objective - 1.0)
    assert min(gaps) >= -1e-6
    assert min(gaps) <= 0.05


def test_counterexample_to_the_printed_theorem():
    """1-D, w = 1 is the global minimum although point 2 is exactly at the cut-off."""
    X, y = np.array([[1.0], [-0.5]]), np.array([1, 1])
    w = np.linspace(-3, 3, 60001)
    loss = models.Ramp(0.0, -0.5)
    J = 0.5 * w**2 + 4.0 * (loss.of_margin(w * 1.0) + loss.of_margin(w * -0.5))
    assert w[J.argmin()] == pytest.approx(1.0)
    check = local_optimality([1.0, 0.0], X[:, 0] * y, 4.0, 0.0, -0.5)
    assert check.ties.tolist() == [1]
    assert check.violation == 0.0
    assert not check.holds()
    check = local_optimality([1.0, 0.0], X[:, 0] * y, 4.0, 0.0, -0.5, rows=X * y[:, None])
    assert check.ties.tolist() == [1]
    assert check.holds()


def test_ties_are_decided_by_their_sides():
    """Two points a and -a of one class at the cut-off 0, and an edge point along the same line: w = e2 (edge) has both at 0. Whichever of
    the two is an inlier pulls w its way, which only an edge multiplier of that size could hold."""
    rows = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    held = local_optimality([0.0, 0.0, 1.0], rows @ [0.0, 1.0], 4.0, 0.0, 0.0, rows=rows)
    assert held.ties.tolist() == [0, 1]
    assert held.violation == 0.0
    assert held.tie_violation > 0.5
    slanted = np.array(
        [[0.1, 0.0], [-0.1, 0.0], [1.0, 1.0], [-1.0, 1.0]]
    )  # edges on both sides that take up to 4 * 0.1
    held = local_optimality([0.0, 0.0, 0.5, 0.5], slanted @ [0.0, 1.0], 4.0, 0.0, 0.0, rows=slanted)
    assert held.holds()
    far = local_optimality(np.zeros(8), np.zeros(8), 1.0, 0.0, 0.0, rows=np.eye(8))
    assert far.tie_violation == np.inf  # more ties than are looked at


def test_local_optimality_sees_a_wrong_multiplier():
    X, y = noisy(40, 2, 1)
    model = models.robust_svm(X, y, 1.0)
    result = solve(model, "outlier-path")
    alpha = result.extra["alpha"].copy()
    margins = model.margins(result.values)
    assert local_optimality(alpha, margins, 1.0, 0.0, 0.0).holds(1e-8)
    far = int(np.argmax(margins))
    alpha[far] = 0.5
    check = local_optimality(alpha, margins, 1.0, 0.0, 0.0)
    assert check.worst == far
    assert check.violation == pytest.approx(0.5)


def test_separable_data_return_the_svm_and_say_so():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    y = np.array([0, 0, 1, 1])
    for parameter in ("theta", "s"):
        result = solve(models.robust_svm(X, y, 10.0), "outlier-path", options={"path": parameter})
        assert "no outliers" in result.raw_status
        assert result.values["w"][0] == pytest.approx(1.0)
        assert not result.extra["outliers"].any()


def test_limits_and_callbacks_return_the_path_so_far():
    X, y = noisy(400, 5, 2, flip=0.3)
    seen = []
    result = solve(
        models.robust_svm(X, y, 1.0), "outlier-path", callback=lambda event: seen.append(event) or len(seen) < 2
    )
    assert result.status == "interrupted"
    assert result.claim == "heuristic"
    assert not result.extra["path"].complete
    assert 0.0 < result.extra["path"].theta[-1] < 1.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"s": 0.5}, "<= 0"),
        ({"theta": 1.5}, "from 0 to 1"),
        ({"theta": -0.1}, "from 0 to 1"),
        ({"C": 0.0}, "positive"),
        ({"C": np.nan}, "positive"),
        ({"intercept": "penalised", "kernel": models.Kernel()}, "Kernel\\(offset"),
    ],
)
def test_bad_parameters(arguments, words):
    X, y = noisy(10, 2, 0)
    with pytest.raises(InvalidInputError, match=words):
        models.robust_svm(X, y, **arguments)


def test_refusals_name_the_remedy():
    X, y = noisy(10, 2, 0)
    free = models.Model(X, y, minimize=0.5 * models.L2() + models.Ramp())
    with pytest.raises(UnsupportedProgramError, match="penalised"):
        solve(free, "outlier-path")
    with pytest.raises(UnsupportedProgramError, match="Ramp"):
        solve(models.hinge_svm(X, y), "cccp")
    with pytest.raises(OptionError, match="d_step"):
        solve(models.robust_svm(X, y), "outlier-path", options={"d_step": "sla"})


def test_ramp_model_has_the_size_it_says():
    X, y = noisy(20, 3, 0)
    assert models.robust_svm(X, y).program().A.shape == (20, 43)
    assert models.robust_svm(X, y, theta=0.5).program().A.shape == (40, 63)
    assert models.robust_svm(X, y, theta=1.0).program().A.shape == (20, 23)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(1, 12), st.integers(0, 10_000))
def test_cholesky_updates_equal_fresh_factors(k, seed):
    rng = np.random.default_rng(seed)
    q = int(rng.integers(1, 4))
    B = rng.normal(size=(k + q, k + q + 2))
    Q = B @ B.T
    U = np.zeros((k + q, k + q))
    U[:k, :k] = np.linalg.cholesky(Q[:k, :k]).T
    columns = np.zeros((q, k + q))
    columns[:, :k] = Q[k:, :k]
    cholesky_update.append(U, k, columns, Q[k:, k:].copy(), np.full(q, 1e-12))
    full = np.triu(U)
    np.testing.assert_allclose(full.T @ full, Q, atol=1e-9 * np.abs(Q).max())
    gone = np.sort(rng.choice(k + q, size=min(q, k + q - 1), replace=False)).astype(np.int64)
    cholesky_update.delete(U, k + q, gone, np.empty((len(gone), k + q)))
    kept = np.delete(np.arange(k + q), gone)
    small = np.triu(U[: len(kept), : len(kept)])
    np.testing.assert_allclose(small.T @ small, Q[np.ix_(kept, kept)], atol=1e-9 * np.abs(Q).max())


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(3, 25), st.integers(1, 4), st.integers(0, 10_000), st.sampled_from([0.01, 1.0, 100.0]))
@example(25, 3, 18, 100.0)  # a rising point whose margin stands still has to land
@example(3, 1, 1, 0.01)  # points at the origin are at the cut-off for ever
def test_discrete_points_never_loop(n, d, seed, C):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, d)).astype(float)
    y = rng.choice([-1, 1], n)
    y[:2] = [-1, 1]
    for parameter in ("theta", "s"):
        model = models.robust_svm(X, y, C)
        result = solve(model, "outlier-path", options={"path": parameter})
        path = result.extra["path"]
        assert path.complete
        worst = worst_condition(gram_of(model, X), path.y, path.alpha(-1), path.C, 0.0, 0.0, path.outliers(-1))
        assert worst <= 1e-8


@pytest.mark.parametrize("rule", ["offset", "rbf"])
@pytest.mark.parametrize("name", ["continuous", "binary"])
def test_a_path_may_start_at_a_known_svm(name, rule):
    X, y = DATA[name]
    robust = form_of(models.robust_svm(X, y, 10.0, **RULES[rule]))
    theta, _ = follow_path(robust, Run.quiet(), "theta")
    path, _ = follow_path(robust, Run.quiet(), "s")
    again, _ = follow_path(robust, Run.quiet(), "s", start=theta.alpha(0))
    assert again.complete
    np.testing.assert_allclose(again.alpha(0), theta.alpha(0), atol=1e-6)
    assert again.objective[0] == pytest.approx(path.objective[0], rel=1e-10)


def test_no_time_at_all_still_returns_a_rule():
    X, y = noisy(300, 5, 2)
    result = solve(models.robust_svm(X, y), "outlier-path", time_limit=1e-9)
    assert (result.status, result.claim) == ("time_limit", "heuristic")
    assert result.recounted
    assert (np.sign(X @ result.values["w"]) == y).mean() > 0.6


def test_sparse_rows_and_dense_rows_trace_the_same_path(monkeypatch):
    from mipclass.methods.robust_svm.kernels import rows

    rng = np.random.default_rng(0)
    X = (rng.random((300, 40)) < 0.12).astype(float)
    y = np.where(X @ rng.normal(size=40) + 0.2 * rng.normal(size=300) > 0, 1, -1)
    y[rng.random(300) < 0.15] *= -1
    for parameter in ("theta", "s"):
        model = models.robust_svm(X, y, 1.0, intercept="penalised")
        paths = []
        for share in (0.25, 0.0):
            monkeypatch.setattr(rows, "SPARSE", share)
            paths.append(solve(model, "outlier-path", options={"path": parameter}).extra["path"])
        assert paths[0].values[0] == pytest.approx(paths[1].values[0], rel=1e-8)
        assert paths[0].objective[0] == pytest.approx(paths[1].objective[0], rel=1e-9)
        K = gram_of(model, X)
        for path in paths:
            assert path.complete
            for k in range(len(path)):
                alpha, theta, s = path.alpha(k), path.theta[k], path.s[k]
                assert worst_condition(K, path.y, alpha, path.C, theta, s, path.outliers(k)) <= 1e-8


def test_few_breakpoints_are_stored_where_the_rule_stands_still():
    """Many binary points in few dimensions: w stays at a vertex while multipliers are exchanged, and between the stored
    breakpoints the straight line of multipliers is optimal too."""
    X, y = binary(400, 9, 3)
    model = models.robust_svm(X, y, 100.0)
    path = solve(model, "outlier-path").extra["path"]
    K = gram_of(model, X)
    W = path.coefficients(X[model.points.first])
    moved = np.abs(np.diff(W, axis=0)).max(axis=1) > 1e-8
    assert len(path) <= 40 + 4 * moved.sum()
    for k in np.flatnonzero(np.diff(path.theta) < 0):
        theta = 0.5 * (path.theta[k] + path.theta[k + 1])
        alpha = path.at(theta)
        assert worst_condition(K, path.y, alpha, path.C, theta, 0.0, path.outliers(k)) <= 1e-8


@pytest.mark.parametrize("rule", ["linear", "callable"])
def test_several_inliers_leave_together_and_the_objective_falls(rule):
    """Clusters of flipped points reach the cut-off together; every jump ends at the optimum of its partition.

    The objective falls wherever the rule moves. It may stand still only where Q on the edge and the ties is singular: multipliers are
    exchanged at a vertex (the corrected Theorem 3).
    """
    rng = np.random.default_rng(4)
    X, y = noisy(150, 4, 4, flip=0.0)
    X[:30] = X[:3].repeat(10, axis=0) + 1e-4 * rng.normal(size=(30, 4))
    y[:30] = -y[:3].repeat(10)
    model = models.robust_svm(X, y, 1.0, **RULES[rule])
    path = solve(model, "outlier-path", options={"path": "s"}).extra["path"]
    K = gram_of(model, X)
    assert np.diff(path.n_outliers()).max() >= 5
    for k in np.flatnonzero(path.jumps):
        s, outliers = path.s[k], path.outliers(int(k))
        dual = solve(models.conditional_dual(K, y, 1.0, 0.0, s, outliers=outliers), "cvxpy:CLARABEL")
        assert (1.0 - s) * outliers.sum() - dual.objective == pytest.approx(path.objective[k], rel=1e-6)
        before = path.alpha(int(k) - 1)
        moved = path.y * (path.alpha(int(k)) - before)
        fall = ramp_objective(K, path.y, before, path.C, 0.0, s) - path.objective[k]
        if moved @ K @ moved > 1e-12:
            assert fall > 0.0
        else:
            margins = path.y * (K @ (path.y * before))
            free = np.flatnonzero((np.abs(margins - 1.0) < 1e-8) | (np.abs(margins - s) < 1e-8))
            assert np.linalg.matrix_rank(K[np.ix_(free, free)]) < len(free)
            assert fall == pytest.approx(0.0, abs=1e-9)


def test_a_leg_that_stands_still_takes_equals_in_random_order():
    from mipclass.methods.robust_svm.kernels.legs import Clock
    from mipclass.methods.robust_svm.kernels.ratio_test import STUCK, comes_first

    at_once = np.zeros(6)

    def chosen(clock: Clock) -> int:
        step, who = 1.0, -1
        clock.equals[0] = 0.0
        for i, x in enumerate(at_once):
            if comes_first(x, step, clock.idle[0] >= STUCK, clock):
                step, who = x, i
        return who

    clock = Clock.at(0.0)
    assert {chosen(clock) for _ in range(20)} == {0}
    clock.idle[0] = STUCK
    counts = np.bincount([chosen(clock) for _ in range(6000)], minlength=6)
    assert counts.min() > 800  # of 1000 expected
    assert not comes_first(0.5, 0.0, True, clock)


@pytest.mark.parametrize("parameter", ["theta", "s"])
def test_a_path_does_not_depend_on_how_its_legs_are_cut(parameter, monkeypatch):
    from mipclass.methods.robust_svm import state as outlier_state

    X, y = binary(300, 12, 1)
    model = models.robust_svm(X, y, 10.0)
    whole = solve(model, "outlier-path", options={"path": parameter})
    monkeypatch.setattr(outlier_state, "EVENTS_A_CALL", 40)
    cut = solve(model, "outlier-path", options={"path": parameter})
    assert cut.status == whole.status == "optimal"
    assert cut.objective == pytest.approx(whole.objective, rel=1e-9)


def test_a_path_that_makes_no_progress_ends(monkeypatch):
    from mipclass.methods.robust_svm.tracer import Tracer

    batches = []
    monkeypatch.setattr(Tracer, "_advance_theta", lambda self, batch, until: bool(batches.append(until)))
    with pytest.warns(MipclassWarning, match="stalled"):
        result = solve(models.robust_svm(*noisy(20, 3, 0), 1.0), "outlier-path")
    assert (result.status, result.claim) == ("numerical_error", "heuristic")
    assert len(batches) < 400


@pytest.mark.parametrize(("stalls", "status"), [(2, "optimal"), (9, "numerical_error")])
def test_a_path_that_stalls_is_traced_anew(stalls, status, monkeypatch):
    from mipclass.methods.robust_svm import outlier_path
    from mipclass.methods.robust_svm.state import PathStalledError

    whole, shifts = outlier_path.solve_svm, []

    def stalls_at_first(state, run, start=None):
        shifts.append(state.shift)
        if len(shifts) <= stalls:
            raise PathStalledError("for the test")
        return whole(state, run, start)

    monkeypatch.setattr(outlier_path, "solve_svm", stalls_at_first)
    with pytest.warns(MipclassWarning, match="stalled") if status == "numerical_error" else nullcontext():
        assert solve(models.robust_svm(*noisy(60, 3, 0), 1.0), "outlier-path").status == status
    assert len(shifts) == 3
    assert (shifts[0] != shifts[1]).any()
