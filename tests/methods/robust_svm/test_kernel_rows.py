"""Kernels whose matrix is not stored: the same operator, the same SVM and the same paths as with the matrix."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from mipclass import models, solve
from mipclass.methods.robust_svm.form import RobustForm, match_robust
from mipclass.methods.robust_svm.kernel_rows import KernelRows, RowCache
from mipclass.methods.robust_svm.kernels.active_set import ActiveSet
from mipclass.methods.robust_svm.kernels.operators import SignedGram
from mipclass.methods.robust_svm.outlier_path import follow_path
from mipclass.methods.robust_svm.state import OutlierState
from mipclass.methods.robust_svm.svm import sifting
from mipclass.protocol.run import Run

KERNELS = {
    "rbf": models.Kernel("rbf"),
    "rbf with an offset": models.Kernel("rbf", gamma=0.5, offset=1.0),
    "poly": models.Kernel("poly", gamma=0.3, degree=2, coef0=1.0),
    "linear": models.Kernel("linear"),
}
WHOLE = 10**9  # bytes: the matrix is stored


def points(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0, 1, -1)
    y[rng.random(n) < 0.15] *= -1
    return X, y


def form_of(n: int, kernel: models.Kernel, C: float = 1.0, seed: int = 0, **how: float) -> RobustForm:
    X, y = points(n, 4, seed)
    form = match_robust(models.robust_svm(X, y, C, kernel=kernel, **how))
    assert isinstance(form, RobustForm)
    return form


def test_a_cache_gives_the_rows_of_the_matrix_whatever_it_has_room_for():
    rng = np.random.default_rng(0)
    Q = rng.normal(size=(40, 40))
    for room in (0, 1, 7, 40):
        computed: list[int] = []

        def compute(index: np.ndarray, computed: list[int] = computed) -> np.ndarray:
            computed.extend(index)
            return Q[index].copy()

        cache = RowCache(compute, 40, 8 * 40 * room)
        for _ in range(200):
            index = rng.choice(40, size=rng.integers(0, 12), replace=False)
            np.testing.assert_array_equal(cache.rows(index), Q[index])
        if room == 40:
            assert len(computed) == len(set(computed))


@pytest.mark.parametrize("name", KERNELS)
def test_rows_and_matrix_are_the_same_operator(name):
    form = form_of(60, KERNELS[name])
    stored, rows = form.points.within(WHOLE), form.points.within(1000)
    assert isinstance(stored, SignedGram)
    assert isinstance(rows, KernelRows)
    rng = np.random.default_rng(1)
    a, index = rng.normal(size=60) * (rng.random(60) < 0.5), np.array([3, 17, 20, 41])
    scale = np.abs(stored.matrix).max()
    close = {"rtol": 1e-12, "atol": 1e-12 * scale}
    np.testing.assert_allclose(rows.diagonal, stored.diagonal, rtol=1e-13)
    np.testing.assert_allclose(rows.ridge, stored.ridge, rtol=1e-13)
    np.testing.assert_allclose(rows.matrix, stored.matrix, **close)
    np.testing.assert_allclose(rows.restrict(index).matrix, stored.restrict(index).matrix, **close)
    np.testing.assert_allclose(rows.margins(a), stored.margins(a), **close)
    np.testing.assert_allclose(rows.margin_scale(a, index), stored.margin_scale(a, index), rtol=1e-12)
    used = np.flatnonzero(a)
    for _ in range(3):  # the second is an update of the first
        a[used[0]] += 1.0
        np.testing.assert_allclose(rows.drive(used, a[used]), stored.drive(used, a[used]), **close)
    factors = []
    for operator in (rows, stored):
        active = ActiveSet.empty(60)
        operator.factorise(active, index[:2])
        operator.join(active, 20)
        operator.take_out(active, 3)
        np.testing.assert_allclose(operator.column(active, 41), stored.matrix[41, active.members], **close)
        factors.append(active)
    np.testing.assert_array_equal(factors[0].members, factors[1].members)
    np.testing.assert_allclose(
        factors[0].U[:2, :2][[0, 0, 1], [0, 1, 1]], factors[1].U[:2, :2][[0, 0, 1], [0, 1, 1]], **close
    )


@pytest.mark.parametrize("parameter", ["s", "theta"])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("C", [0.1, 1.0, 5.0])
def test_paths_by_rows_are_those_by_the_matrix(name, parameter, C):
    form = form_of(350, KERNELS[name], C, seed=3, theta=0.0, s=-0.3)
    whole, status = follow_path(form, Run.quiet(), parameter, memory=WHOLE)
    by_rows, other = follow_path(form, Run.quiet(), parameter, memory=100_000)
    assert status is None
    assert other is None
    assert by_rows.complete
    assert len(by_rows) == len(whole)
    np.testing.assert_allclose(by_rows.objective, whole.objective, rtol=1e-9)
    np.testing.assert_array_equal(by_rows.outliers(-1), whole.outliers(-1))


@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("name", KERNELS)
def test_small_working_sets_reach_the_same_svm(name, C, monkeypatch):
    monkeypatch.setattr(sifting, "LARGEST", 60)
    form = form_of(300, KERNELS[name], C, seed=4)
    operator = form.points.within(50_000)
    assert isinstance(operator, KernelRows)
    state = OutlierState.at_zero(operator, form.C)
    assert sifting.sift_svm(state, operator, Run.quiet()) is None
    whole, _ = follow_path(form, Run.quiet(), "s", memory=WHOLE)
    assert state.objective() == pytest.approx(whole.objective[0], rel=1e-9)


def test_the_start_by_rows_is_the_svm_of_scikit_learn():
    # LinearSVC without an offset on the rows of a factor of the kernel matrix is the kernel SVM without an offset.
    X, y = points(200, 4, 5)
    kernel = models.Kernel("rbf")
    values, vectors = np.linalg.eigh(kernel.gram(X, X))
    F = vectors * np.sqrt(np.maximum(values, 0.0))
    machine = LinearSVC(C=2.0, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=1_000_000).fit(F, y)
    w = machine.coef_[0]
    expected = 0.5 * w @ w + 2.0 * np.maximum(0.0, 1.0 - y * (F @ w)).sum()
    form = match_robust(models.robust_svm(X, y, 2.0, kernel=kernel))
    assert isinstance(form, RobustForm)
    path, _ = follow_path(form, Run.quiet(), "s", memory=50_000)
    assert path.objective[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("parameter", ["s", "theta"])
def test_the_end_satisfies_the_conditions_of_a_local_optimum(parameter):
    X, y = points(900, 5, 7)
    problem = models.robust_svm(X, y, 1.0, 0.0, -0.2, kernel=models.Kernel("rbf"))
    result = solve(problem, "outlier-path", options={"path": parameter, "kernel_memory": 2})
    assert result.claim == "local"
    assert result.recounted
    assert len(result.extra["alpha"]) == 900
    squares = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    alpha = y * result.values["c"]
    m = y * (np.exp(-squares / 5) @ result.values["c"])
    free = (alpha > 1e-9) & (alpha < 1.0 - 1e-9)
    np.testing.assert_allclose(m[free], 1.0, atol=1e-7)
    low, high = alpha <= 1e-9, alpha >= 1.0 - 1e-9
    assert (m[high] <= 1.0 + 1e-7).all()
    assert (m[high] >= -0.2 - 1e-7).all()
    assert ((m[low] >= 1.0 - 1e-7) | (m[low] <= -0.2 + 1e-7)).all()
    np.testing.assert_array_equal(result.extra["outliers"], m < -0.2)


def test_a_kernel_solve_computes_its_scores_once(monkeypatch):
    X, y = points(120, 4, 9)
    calls, scores = [], models.Kernel.scores
    monkeypatch.setattr(models.Kernel, "scores", lambda *given: calls.append(1) or scores(*given))
    result = solve(models.robust_svm(X, y, 1.0, kernel=models.Kernel("rbf")), "outlier-path")
    assert result.recounted
    assert len(calls) == 1


def test_remembered_scores_are_those_of_the_values_given():
    X, y = points(50, 3, 2)
    model = models.robust_svm(X, y, 1.0, kernel=models.Kernel("rbf"))
    rng = np.random.default_rng(0)
    c = rng.normal(size=50)
    for _ in range(3):
        values = {"c": c, "points": model.X}
        first = model.scores(values)
        np.testing.assert_allclose(first, models.Kernel("rbf").gram(X, X) @ c, rtol=1e-12)
        first[:] = 0.0
        np.testing.assert_allclose(model.scores(values), models.Kernel("rbf").gram(X, X) @ c, rtol=1e-12)
        c += 1.0
    other = {"c": c, "points": X[::-1].copy()}
    np.testing.assert_allclose(model.scores(other), models.Kernel("rbf").gram(X, X[::-1]) @ c, rtol=1e-12)
