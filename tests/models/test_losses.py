"""Hinge and squared losses against scikit-learn and closed forms; smooth losses have values but no program."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

import mipclass
from mipclass import models
from mipclass.errors import UnsupportedProgramError
from tests.models.small_data import X_OK, Y_OK, pm1, tiny


def test_hinge_svm_equals_scikit_learn() -> None:
    X, y = tiny(1, n=30, d=4)
    ours = mipclass.solve(models.hinge_svm(X, y, C=2.0), "highs")
    theirs = SVC(kernel="linear", C=2.0, tol=1e-8).fit(X, y)
    w, b = theirs.coef_[0], theirs.intercept_[0]
    value = 0.5 * w @ w + 2.0 * np.maximum(0, 1 - pm1(y) * (X @ w + b)).sum()
    assert ours.objective == pytest.approx(value, rel=1e-6)
    assert ours.recounted


def test_penalised_offset_is_a_constant_column() -> None:
    X, y = tiny(2, n=40, d=3)
    ours = mipclass.solve(models.hinge_svm(X, y, C=1.0, intercept="penalised"), "highs")
    theirs = LinearSVC(loss="hinge", C=1.0, tol=1e-10, max_iter=10**6, dual=True).fit(X, y)
    w, b = theirs.coef_[0], theirs.intercept_[0]
    value = 0.5 * (w @ w + b * b) + np.maximum(0, 1 - pm1(y) * (X @ w + b)).sum()
    assert ours.objective == pytest.approx(value, rel=1e-6)


def test_squared_losses_have_the_closed_form() -> None:
    X, y = tiny(6, n=20, d=3)
    ones = np.hstack([X, np.ones((20, 1))])
    coefficients, residual, *_ = np.linalg.lstsq(ones, pm1(y), rcond=None)
    result = mipclass.solve(models.Model(X, y, minimize=models.Squared()), "highs")
    assert result.objective == pytest.approx(residual[0], rel=1e-6)
    assert np.allclose(np.append(result.values["w"], result.values["b"]), coefficients, atol=1e-4)
    squared_hinge = models.Model(
        X, y, minimize=0.5 * models.L2() + models.SquaredHinge(), rule=models.Linear("penalised")
    )
    theirs = LinearSVC(loss="squared_hinge", C=1.0, tol=1e-10, max_iter=10**6, dual=True).fit(X, y)
    value = squared_hinge.recount({"w": theirs.coef_[0], "b": theirs.intercept_[0]})
    assert mipclass.solve(squared_hinge, "highs").objective == pytest.approx(value, rel=1e-6)


def test_the_sigmoid_evaluates_but_has_no_program() -> None:
    problem = models.Model(X_OK, Y_OK, minimize=models.Sigmoid(5.0))
    assert problem.recount({"w": np.zeros(2), "b": 0.0}) == 1.5
    with pytest.raises(UnsupportedProgramError, match="evaluation"):
        problem.program()
