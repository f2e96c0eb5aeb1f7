"""The 0-1 loss as a mixed-integer program, against enumeration: weights, units, constant columns, margin 1."""

from __future__ import annotations

import numpy as np
import pytest

import mipclass
from mipclass import models
from tests.breadth import mostly_slow
from tests.models.small_data import MIP_SOLVERS, pm1, tiny
from tests.truth.zero_one import least_loss


@pytest.mark.parametrize("solver", MIP_SOLVERS)
@pytest.mark.parametrize("lattice", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_zero_one_equals_enumeration(solver: str, lattice: bool, seed: int) -> None:
    X, y = tiny(seed, lattice=lattice)
    weights = np.random.default_rng(seed).integers(1, 4, len(y)).astype(float)
    problem = models.zero_one(X, y, sample_weight=weights)
    result = mipclass.solve(problem, solver)
    assert result.objective == least_loss(X, pm1(y), weights)
    assert result.recounted
    assert result.bound == result.objective
    assert weights @ (problem.predict(result.values) != y) == result.objective


def test_xor_needs_one_error() -> None:
    X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
    assert mipclass.solve(models.zero_one(X, y), "highs").objective == 1


@pytest.mark.parametrize(
    ("scale", "shift"),
    mostly_slow(
        [(scale, shift) for scale in (1e-6, 1.0, 1e6) for shift in (0.0, 1e3, 1e5)],
        fast=[(1e-6, 0.0), (1.0, 1e5), (1e6, 1e3)],
    ),
)
def test_zero_one_does_not_mind_units(scale: float, shift: float) -> None:
    X, y = tiny(11, n=20, d=3)
    expected = mipclass.solve(models.zero_one(X, y), "highs").objective
    assert mipclass.solve(models.zero_one(scale * (X + shift), y), "highs").objective == expected


def test_constant_columns_and_one_distinct_point() -> None:
    X, y = tiny(3)
    with_constant = np.hstack([X, np.full((len(X), 1), 7.0)])
    assert mipclass.solve(models.zero_one(with_constant, y), "highs").objective == least_loss(X, pm1(y))
    same = mipclass.solve(models.zero_one(np.ones((5, 2)), [0, 1, 1, 1, 0]), "highs")
    assert (same.objective, same.recounted) == (2, True)


def test_margin_one_takes_penalties_and_derives_its_box() -> None:
    X, y = tiny(8, n=8)
    problem = models.Model(X, y, minimize=models.ZeroOne(margin=1) + 0.5 * models.L1())
    highs, scip = (mipclass.solve(problem, solver) for solver in MIP_SOLVERS)
    assert highs.objective == pytest.approx(scip.objective, rel=1e-5)
    assert highs.recounted
    assert "within |w_j|" in highs.extra["scope"]
