"""Newton's method for logistic regression against scikit-learn, a conic solver and the KKT conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

import mipclass
from mipclass import models
from mipclass.protocol.result import Status


def data(seed: int = 0, n: int = 300, d: int = 6) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.2, 3.0, size=d)
    return X, (X[:, 0] - X[:, 1] + rng.logistic(size=n) > 0.3).astype(int)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_ridge_equals_scikit_learn(C: float, seed: int) -> None:
    X, y = data(seed)
    problem = models.Model(X, y, minimize=0.5 * models.L2() + C * models.Logistic())
    result = mipclass.solve(problem, "newton")
    theirs = LogisticRegression(C=C, tol=1e-12, max_iter=10_000).fit(X, y)
    value = problem.recount({"w": theirs.coef_[0], "b": theirs.intercept_[0]})
    assert result.claim == "proven"
    assert result.gap <= 1e-9
    assert result.recounted
    assert result.objective == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("C", [0.03, 1.0])
def test_lasso_equals_liblinear(C: float) -> None:
    X, y = data(2)
    problem = models.Model(X, y, rule=models.Linear("penalised"), minimize=models.L1() + C * models.Logistic())
    result = mipclass.solve(problem, "newton")
    theirs = LogisticRegression(C=C, l1_ratio=1.0, solver="liblinear", tol=1e-12, max_iter=100_000).fit(X, y)
    value = problem.recount({"w": theirs.coef_[0], "b": theirs.intercept_[0]})
    assert result.claim == "proven"
    assert result.objective == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("objective", [models.L1() + models.Logistic(), 0.5 * models.L2() + models.Logistic(2.0)])
def test_bounds_signs_and_weights_agree_with_a_conic_solver(objective: Any) -> None:
    X, y = data(3, n=120, d=4)
    c = np.random.default_rng(3).uniform(0.5, 2.0, size=len(y))
    constraints = [models.Bounds(w=(-0.4, 2.0)), models.Monotone({1: 1})]
    problem = models.Model(X, y, minimize=objective, subject_to=constraints, sample_weight=c)
    problem.subject_to(problem.b >= 0.2)
    ours, conic = mipclass.solve(problem, "newton"), mipclass.solve(problem, "cvxpy:CLARABEL")
    assert ours.claim == conic.claim == "proven"
    assert ours.objective == pytest.approx(conic.objective, rel=1e-7)
    assert ours.bound <= conic.objective * (1 + 1e-9)
    assert conic.bound <= ours.objective * (1 + 1e-9)
    assert not problem.violations(ours.values)


def test_without_a_penalty_the_gap_closes_too() -> None:
    X, y = data(4)
    problem = models.Model(X, y, minimize=models.Logistic())
    result = mipclass.solve(problem)
    assert result.solver == "newton"
    assert result.claim == "proven"
    assert result.gap <= 1e-9
    theirs = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(X, y)
    value = problem.recount({"w": theirs.coef_[0], "b": theirs.intercept_[0]})
    assert result.objective == pytest.approx(value, rel=1e-8)


def test_separable_classes_have_no_minimum_and_no_proof() -> None:
    result = mipclass.solve(
        models.Model([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], minimize=models.Logistic()), "newton"
    )
    assert result.status is not Status.OPTIMAL
    assert result.claim == "heuristic"


def test_sparse_wide_and_sampled_data() -> None:
    rng = np.random.default_rng(5)
    X = sp.random_array((200, 1500), density=0.01, rng=rng, format="csr")
    y = (X @ rng.normal(size=1500) > 0).astype(int)
    for objective in (0.5 * models.L2() + models.Logistic(), 0.2 * models.L1() + models.Logistic()):
        result = mipclass.solve(models.Model(X, y, minimize=objective), "newton")
        assert result.claim == "proven", result
    X, y = data(6, n=25_000, d=3)
    few = mipclass.solve(models.Model(X, y, minimize=0.5 * models.L2() + models.Logistic()), "newton")
    theirs = LogisticRegression(C=1.0, tol=1e-10).fit(X, y)
    assert np.allclose(few.values["w"], theirs.coef_[0], rtol=1e-4)


def test_a_warm_start_and_limits() -> None:
    X, y = data(7)
    problem = models.Model(X, y, minimize=0.5 * models.L2() + models.Logistic())
    first = mipclass.solve(problem, "newton")
    again = mipclass.solve(problem, "newton", warm_start=first)
    assert again.iterations <= 1
    assert again.objective == pytest.approx(first.objective, rel=1e-12)
    stopped = mipclass.solve(problem, "newton", options={"max_iterations": 1})
    assert stopped.status is Status.ITERATION_LIMIT
    assert stopped.claim == "heuristic"
    assert stopped.bound is None or stopped.bound <= first.objective
