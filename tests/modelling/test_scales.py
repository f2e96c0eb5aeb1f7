"""Columns of far scales: powers of two, the accepted range, and the same 0-1 loss in any unit."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from mipclass import (
    InvalidInputError,
    OutlierPathSVC,
    PolyhedralClassifier,
    RGDTreeOneClass,
    RGDTreeSVC,
    TauFPLClassifier,
    ZeroOneClassifier,
    models,
    solve,
    verify,
)
from mipclass.errors import UnsupportedProgramError
from mipclass.modelling.data import NEAR, check_scales, far_scales
from tests.truth.zero_one import least_loss

FAR = [(1e160, 1.0), (1e160, 1e160), (1e240, 1e-240), (1e-200, 1.0), (1e-200, 1e-200), (1e-240, 1e30)]
PROVERS = ["exact", "box", "iis", "pcs", "bnb", "highs"]
SEARCHES = ["csa", "sla", "local"]


def _drawn(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and labels of overlapping classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] + 0.7 * rng.normal(size=n) > 0).astype(int)


@cache
def _least(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Points, labels, and the least number of errors by enumeration."""
    X, y = _drawn(seed, 13)
    least = least_loss(X, np.where(y > 0, 1.0, -1.0))
    assert least is not None
    return X, y, least


def _points(seed: int = 0) -> tuple[np.ndarray, np.ndarray, float]:
    X, y, least = _least(seed)
    return X.copy(), y, least


def test_column_scales_are_powers_of_two_and_one_for_near_columns() -> None:
    X = np.array([[1e200, 1.0, 0.0, -1e-120, NEAR], [-3e199, -5e20, 0.0, 0.0, 1.0]])
    scales = far_scales(X)
    assert scales[1] == scales[2] == scales[4] == 1.0
    assert (np.frexp(scales)[0] == 0.5).all()
    scaled = X / scales
    assert (np.abs(scaled).max(axis=0)[[0, 3]] >= 1.0).all()
    assert (np.abs(scaled).max(axis=0)[[0, 3]] < 2.0).all()
    assert (scaled * scales == X).all()
    assert (far_scales(sp.csr_array(X)) == scales).all()


@pytest.mark.parametrize("units", FAR)
@pytest.mark.parametrize("solver", PROVERS)
def test_the_least_loss_does_not_depend_on_the_units(solver: str, units: tuple[float, float]) -> None:
    X, y, least = _points()
    far = X * np.array(units)
    result = solve(models.zero_one(far, y), solver, time_limit=60)
    assert (result.claim, result.objective, result.bound, result.recounted) == ("proven", least, least, True)
    assert np.isfinite(result.values["w"]).all()
    assert np.isfinite(result.values["b"])
    assert ((far @ result.values["w"] + result.values["b"] > 0) != (y > 0)).sum() == least
    if result.certificate is not None:
        assert result.certified
        assert verify(result.certificate, far, y)


@pytest.mark.parametrize("units", FAR)
@pytest.mark.parametrize("solver", SEARCHES)
def test_a_search_finds_the_same_rule_in_any_power_of_two(solver: str, units: tuple[float, float]) -> None:
    X, y = _drawn(1, 40)
    powers = np.exp2(np.round(np.log2(units)))
    near, far = (solve(models.zero_one(data, y), solver, time_limit=60) for data in (X, X * powers))
    assert far.objective == near.objective
    assert far.values["w"] * powers == pytest.approx(near.values["w"], rel=1e-9)
    assert float(far.values["b"]) == pytest.approx(float(near.values["b"]), rel=1e-9)


@pytest.mark.parametrize("solver", ["exact", "highs"])
def test_side_constraints_in_far_units(solver: str) -> None:
    X, y, _ = _points(2)
    near, far = (models.zero_one(data, y) for data in (X, X * [1e180, 1e-180]))
    for problem in (near, far):
        problem.subject_to(problem.w[0] <= 0, models.FalsePositiveRate(at_most=0.4))
    truth, result = solve(near, "exact"), solve(far, solver, time_limit=60)
    assert (result.claim, result.objective) == ("proven", truth.objective)


def test_a_warm_start_in_far_units() -> None:
    X, y, least = _points()
    best = solve(models.zero_one(X, y), "exact")
    start = {"w": best.values["w"] / [1e200, 1e-200], "b": best.values["b"]}
    for solver in ("csa", "exact", "highs"):
        assert solve(models.zero_one(X * [1e200, 1e-200], y), solver, warm_start=start).objective == least


@pytest.mark.parametrize("value", [1e251, 1e308, 1e-251, 5e-324])
def test_columns_outside_the_range_are_refused_with_a_sentence(value: float) -> None:
    X, y, _ = _points()
    X[:, 1] = value * (np.arange(len(y)) % 2)
    with pytest.raises(
        InvalidInputError, match=r"feature 'x1' has .* allowed are 0 and 1e-250 to 1e\+250\. .*MaxAbsScaler"
    ):
        models.zero_one(X, y)
    with pytest.raises(InvalidInputError, match="largest absolute value"):
        ZeroOneClassifier().fit(sp.csr_array(X), y)


def test_a_column_that_no_unit_fits_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"values of size 1e-200 and 1e\+200; within one feature a ratio up to"):
        check_scales(np.array([[1e-200], [1e200]]), ["age"], free_units=True)
    check_scales(np.array([[1e-300], [1.0]]), ["age"], free_units=True)


@pytest.mark.parametrize("value", [1e80, 1e160, 1e300, 1e-80, 1e-200, 1e-300])
@pytest.mark.parametrize(
    "estimator",
    [
        PolyhedralClassifier(time_limit=5),
        OutlierPathSVC(time_limit=5),
        OutlierPathSVC(kernel="rbf", time_limit=5),
        RGDTreeSVC(time_limit=5),
        RGDTreeSVC(C=1.0, time_limit=5),
        RGDTreeOneClass(time_limit=5),
        TauFPLClassifier(time_limit=5),
        TauFPLClassifier(kernel="rbf", time_limit=5),
    ],
)
def test_models_that_depend_on_units_refuse_far_ones(estimator: Any, value: float) -> None:
    X, y, _ = _points()
    with pytest.raises(InvalidInputError, match=r"depends on the units of X, .*Express the feature in another unit"):
        estimator.fit(X * [1.0, value], y)


def test_whole_number_weights_depend_on_units() -> None:
    X, y, _ = _points()
    with pytest.raises(InvalidInputError, match="depends on the units of X"):
        models.zero_one(X * 1e160, y, subject_to=[models.IntegerCoefficients()])


def test_highs_names_a_coefficient_that_it_cannot_load() -> None:
    X, y, _ = _points()
    problem = models.Model(X * 1e40, y, minimize=models.Hinge() + models.L1())
    with pytest.raises(UnsupportedProgramError, match=r"coefficient of w\[x\d\] in row .* below 1e\+15"):
        solve(problem, "highs")


@pytest.mark.parametrize("solver", ["exact", "highs"])
@pytest.mark.parametrize("units", [(1e29, 2e31), (6e-17, 6e-17), (1e-120, 1e-121)])
def test_rows_between_weights_in_like_far_units(solver: str, units: tuple[float, float]) -> None:
    """The row's entries are far below what solvers take for zero, until the row itself is scaled."""
    X, y, _ = _points(2)
    ratio = units[0] / units[1]
    truth = least_loss(X, np.where(y > 0, 1.0, -1.0), sides=[(np.array([-1.0, ratio, 0.0]), 0.0)])
    problem = models.zero_one(X * np.array(units), y)
    problem.subject_to(problem.w[1] >= problem.w[0])
    result = solve(problem, solver, time_limit=60)
    assert (result.claim, result.objective) == ("proven", truth)


@pytest.mark.parametrize("unit", [6e9, 1e-9, 1e100])
def test_feature_limits_in_far_units(unit: float) -> None:
    X, y, _ = _points(2)
    signs = np.where(y > 0, 1.0, -1.0)
    result = solve(models.zero_one(X * [unit, 1.0], y, subject_to=[models.MaxFeatures(1)]), "highs")
    assert result.claim == "proven"
    assert result.objective == min(least_loss(X[:, :1], signs), least_loss(X[:, 1:], signs))


def test_a_row_that_no_float_can_keep_is_refused() -> None:
    X, y, _ = _points()
    problem = models.zero_one(np.column_stack([X * 1e-190, np.full(len(y), 1e200)]), y)
    problem.subject_to(problem.w[2] >= problem.w[0])
    with pytest.raises(InvalidInputError, match="ties the weight of the constant feature 'x2'"):
        problem.program()
