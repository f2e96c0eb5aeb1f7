"""Training tau-FPL: every solver reaches the same optimum, and every claimed bound is recomputed from the data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mipclass import models, solve
from mipclass.errors import InvalidInputError, MipclassWarning, UnsupportedProgramError
from mipclass.methods.tau_fpl.gap import top_mean
from mipclass.methods.tau_fpl.projected_gradient import train_dual
from mipclass.methods.tau_fpl.ranking import RankingData, RankingRows
from mipclass.methods.tau_fpl.smoothed_primal import train, train_path
from mipclass.models.false_positive import number_of_top
from mipclass.protocol.result import Status
from mipclass.protocol.run import Run


def points(n=120, d=4, shift=1.5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1, -1)
    return rng.standard_normal((n, d)) + shift * (y > 0)[:, None], y


def primal(X, y, w, k, R):
    """P(w), written out."""
    top = np.sort(X[y < 0] @ w)[::-1][:k].mean()
    return np.mean(np.maximum(0.0, 1.0 - X[y > 0] @ w + top) ** 2) + 0.5 * R * w @ w


def dual_value(X, y, alpha, beta, R):
    """-g(alpha, beta)/m for a feasible pair, written out."""
    m = (y > 0).sum()
    v = alpha @ X[y > 0] - beta @ X[y < 0]
    return -(v @ v / (2 * m * R) + np.sum(alpha**2 / 4 - alpha)) / m


def optimum_by_cvxpy(X, y, k, R):
    cvxpy = pytest.importorskip("cvxpy")
    w = cvxpy.Variable(X.shape[1])
    short = cvxpy.pos(1 - X[y > 0] @ w + cvxpy.sum_largest(X[y < 0] @ w, k) / k)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(short) / (y > 0).sum() + R / 2 * cvxpy.sum_squares(w)))
    problem.solve(solver="CLARABEL")
    assert problem.status == "optimal"
    return problem.value


@pytest.mark.parametrize("seed", range(4))
def test_lbfgs_and_fista_reach_cvxpys_optimum(seed):
    rng = np.random.default_rng(seed)
    X, y = points(n=int(rng.integers(40, 150)), d=int(rng.integers(1, 6)), shift=2.5, seed=seed)
    k, R = int(number_of_top(0.1, (y < 0).sum())), float(10.0 ** rng.integers(-2, 1))
    truth = optimum_by_cvxpy(X, y, k, R)
    problem = models.tau_fpl(X, y, tau=0.1, R=R)
    for solver in ("lbfgs", "fista"):
        result = solve(problem, solver, gap=1e-7)
        assert result.status is Status.OPTIMAL
        assert result.objective == pytest.approx(truth, abs=1e-6)
        assert result.objective == pytest.approx(primal(X, y, result.values["w"], k, R), abs=1e-12)
        assert result.bound <= truth + 1e-8
        assert result.objective - result.bound <= 1e-7 * result.objective
        assert result.recounted


def test_the_gap_is_certified_by_a_feasible_dual_point():
    """fista's alpha and beta are feasible, and their dual value, from X alone, is the reported bound."""
    X, y = points()
    result = solve(models.tau_fpl(X, y, tau=0.1, R=0.1), "fista", gap=1e-5)
    alpha, beta = result.extra["alpha"], result.extra["beta"]
    k = int(number_of_top(0.1, (y < 0).sum()))
    assert alpha.min() >= 0.0
    assert beta.min() >= 0.0
    assert alpha.sum() == pytest.approx(beta.sum(), rel=1e-12)
    assert beta.max() <= alpha.sum() / k * (1 + 1e-12)
    assert dual_value(X, y, alpha, beta, 0.1) == pytest.approx(result.bound, rel=1e-4)
    assert dual_value(X, y, alpha, beta, 0.1) <= result.objective


def test_lbfgs_bound_from_its_own_smoothed_duals():
    """Any w gives a dual point (alpha = 2[1 - u]_+, beta = sum(alpha) * top-k weights); the bound is no better than the
    best multiple of it at the returned w allows, up to the smoothing."""
    X, y = points()
    R, k = 0.1, int(number_of_top(0.1, (y < 0).sum()))
    result = solve(models.tau_fpl(X, y, tau=0.1, R=R), "lbfgs", gap=1e-6)
    w = result.values["w"]
    neg = X[y < 0] @ w
    alpha = 2 * np.maximum(0.0, 1 - X[y > 0] @ w + np.sort(neg)[::-1][:k].mean())
    beta = np.where(neg >= np.sort(neg)[::-1][k - 1], alpha.sum() / k, 0.0)
    assert dual_value(X, y, alpha, beta, R) <= result.objective
    assert result.bound <= optimum_by_cvxpy(X, y, k, R) + 1e-7


@pytest.mark.parametrize("solver", ["highs", "piqp", "osqp"])
def test_the_declared_programs_agree(solver):
    X, y = points(n=60, d=3)
    best = solve(models.tau_fpl(X, y, tau=0.1, R=0.1), "lbfgs", gap=1e-8).objective
    by_primal = solve(models.tau_fpl(X, y, tau=0.1, R=0.1), solver)
    by_dual = solve(models.tau_fpl_dual(X, y, tau=0.1, R=0.1), solver)
    by_kernel = solve(models.tau_fpl_kernel(X @ X.T + 1e-9 * np.eye(60), y, tau=0.1, R=0.1), solver)
    assert by_primal.objective == pytest.approx(best, abs=1e-5)
    assert by_primal.recounted
    assert -by_dual.objective / (y > 0).sum() == pytest.approx(best, abs=1e-5)
    np.testing.assert_allclose(by_dual.values["w"], by_primal.values["w"], atol=1e-3)
    assert by_kernel.objective == pytest.approx(best, abs=1e-5)


def test_sizes_are_as_documented():
    X, y = points(n=50, d=3)
    m, n, d = (y > 0).sum(), (y < 0).sum(), 3
    program = models.tau_fpl(X, y).program()
    assert program.A.shape == (m + n + 1, d + m + n + 2)
    assert models.tau_fpl_dual(X, y).program().A.shape == (n + d + 2, m + n + d + 1)
    assert models.tau_fpl_kernel(X @ X.T, y).program().A.shape == (51, 102)
    assert models.topk_projection(X[:, 0], X[:7, 1], 2).program().A.shape == (9, 58)


def test_topk_projection_by_every_qp_solver():
    rng = np.random.default_rng(3)
    problem = models.topk_projection(rng.standard_normal(15), rng.standard_normal(25), 4)
    exact = solve(problem)
    assert exact.solver == "topk"
    assert exact.claim == "proven"
    assert exact.gap <= 1e-14
    for solver in ("highs", "piqp", "osqp"):
        other = solve(problem, solver)
        assert other.objective == pytest.approx(exact.objective, abs=1e-6)
        np.testing.assert_allclose(other.values["beta"], exact.values["beta"], atol=1e-4)
    for variant in ("bisection", "cached-bisection"):
        assert solve(problem, options={"variant": variant}).objective == pytest.approx(exact.objective, abs=1e-9)


def test_neyman_pearson_beats_the_surrogate():
    """The exact problem misses no more positives than tau-FPL's score with its best threshold, at the same rate."""
    X, y = points(n=40, d=2, seed=5)
    exact = solve(models.neyman_pearson(X, y, tau=0.1), "highs")
    assert exact.status is Status.OPTIMAL
    scores = X @ exact.values["w"] + float(exact.values["b"])
    assert (scores[y < 0] > 0).mean() <= 0.1
    assert (scores[y > 0] <= 0).sum() == exact.objective
    w = solve(models.tau_fpl(X, y, tau=0.2, R=0.01)).values["w"]
    allowed = int(0.1 * (y < 0).sum())
    threshold = np.sort(X[y < 0] @ w)[::-1][allowed]
    assert exact.objective <= (X[y > 0] @ w <= threshold).sum()


def test_weights_equal_repetition_and_zero_weight_is_removal():
    X, y = points(n=80)
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = models.tau_fpl(X, y, tau=0.13, R=0.1, sample_weight=weights)
    repeated = models.tau_fpl(np.repeat(X, weights, axis=0), np.repeat(y, weights), tau=0.13, R=0.1)
    for solver in ("lbfgs", "piqp"):
        a, b = solve(weighted, solver, gap=1e-8), solve(repeated, solver, gap=1e-8)
        assert a.objective == pytest.approx(b.objective, abs=1e-6)
        np.testing.assert_allclose(a.values["w"], b.values["w"], atol=1e-3)
        assert a.recounted
    fractional = models.tau_fpl(X, y, tau=0.13, R=0.1, sample_weight=weights + 0.3)
    assert solve(fractional, "lbfgs", gap=1e-7).objective == pytest.approx(
        solve(fractional, "piqp").objective, abs=1e-6
    )


def test_top_mean_equals_its_linear_program():
    from scipy.optimize import linprog

    rng = np.random.default_rng(0)
    for _ in range(20):
        scores, weights = rng.standard_normal(9), rng.uniform(0.1, 2.0, 9)
        k = rng.uniform(0.2, weights.sum())
        found = linprog(
            -scores, A_eq=np.ones((1, 9)), b_eq=[1.0], bounds=list(zip(np.zeros(9), weights / k, strict=True))
        )
        assert top_mean(scores, weights, k) == pytest.approx(-found.fun, abs=1e-9)


def test_k_is_counted_exactly():
    assert number_of_top(0.07, 100) == 7.0  # ceil(0.07 * 100) is 8 in floating point
    assert number_of_top(0.05, 7) == 1.0
    assert number_of_top(0.1, 2.5) == 0.25
    for bad in (0.0, 1.0, -0.1, True, "5%", np.nan):
        with pytest.raises(InvalidInputError, match="tau must be"):
            number_of_top(bad, 10)


def test_sparse_and_blocked_rows_multiply_like_dense_ones():
    dask_array = pytest.importorskip("dask.array")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((101, 7)) * (rng.random((101, 7)) < 0.4)
    w, z = rng.standard_normal(7), np.where(rng.random(101) < 0.3, rng.standard_normal(101), 0.0)
    kinds = (X, np.asfortranarray(X), sp.csr_array(X), X.astype(np.float32), dask_array.from_array(X, chunks=(30, 4)))
    for kind in kinds:
        rows = RankingRows(kind)
        tolerance = 1e-5 if getattr(kind, "dtype", None) == np.float32 else 1e-12
        np.testing.assert_allclose(rows.scores(w), X @ w, atol=tolerance)
        np.testing.assert_allclose(rows.combine(z), X.T @ z, atol=tolerance)
        np.testing.assert_allclose(rows.combine(z + 1.0), X.T @ (z + 1.0), atol=tolerance)
        taken = rows.take(np.array([3, 50]))
        np.testing.assert_allclose(taken.toarray() if sp.issparse(taken) else taken, X[[3, 50]], atol=tolerance)


def test_a_random_tenth_starts_large_problems():
    """Large enough to be solved on a subsample first; the bound still belongs to the whole problem."""
    X, y = points(n=40_000, d=60, shift=0.4)
    run = Run.quiet()
    k, R = number_of_top(0.05, (y < 0).sum()), 1e-2
    found = train(RankingData.build(X, y.astype(float), None, k, R), run, 1e-3, 500)
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(primal(X, y, found.w, int(k), R), rel=1e-12)
    assert found.objective - found.bound <= 1e-3 * found.objective


def test_path_is_warm_started_and_each_point_is_certified():
    X, y = points()
    data = RankingData.build(X, y.astype(float), None, 8, 1.0)
    path = train_path(data, [1e-2, 1.0, 1e-1], Run.quiet(), tolerance=1e-6)
    assert list(path) == [1.0, 1e-1, 1e-2]
    for R, found in path.items():
        cold = train(data.with_R(R), Run.quiet(), 1e-6, 2000)
        assert found.objective == pytest.approx(cold.objective, rel=2e-6)


def test_the_papers_stopping_rule_is_not_a_gap():
    """|g_t - g_{t-1}| <= eps stops early; the reported bound tells."""
    X, y = points(n=200, shift=1.0)
    problem = models.tau_fpl(X, y, tau=0.2, R=1e-3)
    paper = solve(problem, "fista", options={"variant": "paper", "epsilon": 1e-2})
    certified = solve(problem, "fista")
    assert paper.iterations < certified.iterations
    assert certified.extra["relative_gap"] <= 1e-3
    assert paper.bound <= certified.objective


def test_limits_and_callbacks_return_the_incumbent():
    X, y = points(n=400, d=10, shift=0.8)
    problem = models.tau_fpl(X, y, tau=0.2, R=1e-5)
    for solver in ("lbfgs", "fista"):
        few = solve(problem, solver, gap=1e-9, options={"max_iterations": 3})
        assert few.status is Status.ITERATION_LIMIT
        assert few.claim == "heuristic"
        assert few.recounted
        stopped = solve(problem, solver, gap=1e-9, callback=lambda event: False)
        assert stopped.status is Status.INTERRUPTED
        assert stopped.bound <= stopped.objective


@pytest.mark.parametrize("solver", ["lbfgs", "fista"])
def test_warm_starts_shorten_the_way(solver):
    X, y = points(n=300, d=6)
    cold = solve(models.tau_fpl(X, y, tau=0.1, R=0.1), solver, gap=1e-5)
    warm = solve(models.tau_fpl(X, y, tau=0.1, R=0.1), solver, gap=1e-5, warm_start=cold)
    assert warm.iterations < cold.iterations
    assert warm.objective == pytest.approx(cold.objective, rel=2e-5)
    with pytest.raises(InvalidInputError, match="'w'"):
        solve(models.tau_fpl(X, y), solver, warm_start={"w": np.ones(3)})


def test_what_the_methods_refuse():
    X, y = points(n=40)
    ranking, ridge = models.TopKRanking(2), models.L2()
    cases = [
        (models.Model(X, y, minimize=models.Hinge()), "TopKRanking"),
        (models.Model(X, y, minimize=ranking), "one of each"),
        (models.Model(X, y, minimize=ranking + ridge + models.L1()), "one of each"),
        (models.Model(X, y, minimize=ranking + ridge, subject_to=models.Bounds(w=(0, 1))), "without constraints"),
    ]
    for problem, reason in cases:
        with pytest.raises(UnsupportedProgramError, match=reason):
            solve(problem, "lbfgs")
    with pytest.raises(UnsupportedProgramError, match="weight one"):
        solve(models.tau_fpl(X, y, sample_weight=np.full(40, 2.0)), "fista")
    with pytest.raises(UnsupportedProgramError, match="topk_projection"):
        solve(models.tau_fpl(X, y), "topk")
    for R in (0.0, -1.0, np.nan, "x"):
        with pytest.raises(InvalidInputError, match="R must be"):
            models.tau_fpl(X, y, R=R)
    with pytest.raises(InvalidInputError, match="more than the"):
        models.Model(X, y, minimize=models.TopKRanking(1000) + ridge).program()
    with pytest.raises(InvalidInputError, match="symmetric kernel matrix"):
        models.tau_fpl_kernel(X, y)


def test_constraints_go_to_a_qp_solver():
    X, y = points(n=60, d=3)
    free = solve(models.tau_fpl(X, y, tau=0.1, R=0.1))
    bounded = solve(models.tau_fpl(X, y, tau=0.1, R=0.1).subject_to(models.Bounds(w=(-0.1, 0.1))))
    assert free.solver == "lbfgs"
    assert bounded.solver != "lbfgs"
    assert np.abs(bounded.values["w"]).max() <= 0.1 + 1e-6
    assert bounded.objective >= free.bound


def test_collapse_is_found_by_both_solvers():
    X, y = points(n=200, shift=0.05)
    for solver in ("lbfgs", "fista"):
        with pytest.warns(MipclassWarning, match="collapsed"):
            result = solve(models.tau_fpl(X, y, tau=0.02, R=0.1), solver)
        assert result.objective == 1.0
        assert result.bound >= 1.0 - 1e-3
        assert not result.values["w"].any()


def test_kernel_form_equals_the_linear_one():
    X, y = points(n=70, d=3)
    linear = solve(models.tau_fpl(X, y, tau=0.1, R=0.1), "lbfgs", gap=1e-8)
    kernel = solve(models.tau_fpl_kernel(X @ X.T, y, tau=0.1, R=0.1), gap=1e-8)
    assert kernel.solver == "fista"
    assert kernel.recounted
    assert kernel.objective == pytest.approx(linear.objective, abs=1e-7)
    np.testing.assert_allclose(X.T @ kernel.values["c"], linear.values["w"], atol=1e-3)


def test_array_level_dual_training_accepts_a_start():
    X, y = points(n=80)
    data = RankingData.build(X, y.astype(float), None, 5, 0.1)
    first = train_dual(data, Run.quiet(), 1e-6, 5000)
    again = train_dual(data, Run.quiet(), 1e-6, 5000, start=first.z)
    assert again.iterations <= first.iterations
    assert again.objective == pytest.approx(first.objective, rel=2e-6)


def test_entropy_smooths_the_top_mean_from_above():
    """Weights sum to k and stay within their caps; T <= T_eps; the weights are T_eps' gradient (by differences)."""
    from mipclass.methods.tau_fpl.kernels.topk_smooth import soft_threshold, soft_top

    rng = np.random.default_rng(5)
    for eps in (1.0, 0.1, 1e-3):
        s, o = rng.normal(size=30), rng.uniform(0.5, 2.0, 30)
        k = float(rng.uniform(0.5, 20.0))

        def smoothed(scores, k=k, eps=eps, o=o):
            return soft_top(scores, o, k, eps, soft_threshold(scores, o, k, eps, 0.0))

        top, c = smoothed(s)
        assert o @ c == pytest.approx(k, rel=1e-12)
        assert c.min() >= 0
        assert c.max() <= 1
        assert top_mean(s, o, k) - 1e-12 <= top <= top_mean(s, o, k) + eps * np.log(2) * o.sum() / k
        h = 1e-4 * eps
        for j in range(0, 30, 7):
            e = h * (np.arange(30) == j)
            assert (smoothed(s + e)[0] - smoothed(s - e)[0]) / (2 * h) == pytest.approx(o[j] * c[j] / k, abs=1e-5)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.float32])
@pytest.mark.parametrize("k", [1, 3])
def test_newton_finishes_where_lbfgs_needs_thousands_of_steps(form, k):
    """Uneven scales, a small R and a small k: optimal within a few dozen steps, at cvxpy's value."""
    X, y = points(n=300, d=12, shift=0.9, seed=3)
    X = (X * np.logspace(-1.5, 1.5, 12)).astype(np.float32)  # exact in both float types
    truth = optimum_by_cvxpy(X.astype(np.float64), y, k, 1e-4)
    data = RankingData.build(form(X), y, None, k, 1e-4)
    found = train(data, Run.quiet(), 1e-5, 2000)
    assert found.status is Status.OPTIMAL
    assert found.by_newton
    assert found.iterations < 300
    assert found.objective == pytest.approx(truth, rel=2e-5)
    assert found.bound <= truth + 1e-7


def test_newton_directions_solve_the_hessians_system(monkeypatch):
    """H by differences of the smoothed gradient, written out from X, with weights on both classes."""
    from mipclass.methods.tau_fpl import newton as tau_fpl_newton
    from mipclass.methods.tau_fpl.newton import EntropicLoss, newton_direction

    monkeypatch.setattr(tau_fpl_newton, "NEGLIGIBLE", 0.0)
    X, y = points(n=60, d=5, shift=0.5, seed=1)
    rng = np.random.default_rng(2)
    o = rng.integers(1, 4, 60).astype(float)
    data = RankingData.build(X, y, o, 4.0, 0.1)
    loss = EntropicLoss(data, 0.2, 0.0)
    w = rng.normal(size=5)

    def gradient_at(w):
        scores = X @ w
        alpha, g, A = loss.duals(scores[data.pos], scores[data.neg], loss.top(scores[data.neg]))
        return 0.1 * w - (alpha @ X[data.pos] - A * g @ X[data.neg]) / data.total, alpha, g

    H = np.array([(gradient_at(w + e)[0] - gradient_at(w - e)[0]) / 2e-6 for e in 1e-6 * np.eye(5)])
    gradient, alpha, g = gradient_at(w)
    np.testing.assert_allclose(-H @ newton_direction(loss, alpha, g, gradient), gradient, rtol=1e-4, atol=1e-6)
