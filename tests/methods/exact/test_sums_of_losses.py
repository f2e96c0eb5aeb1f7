"""Sums of 0-1 losses, such as a cost for each class: equal to enumeration, certified, and each problem has its own certificate."""

from __future__ import annotations

import numpy as np
import pytest

import mipclass
from mipclass import models
from tests.truth.zero_one import KINDS, least_loss, tiny_instance

BY_CLASS = 0.5 * models.ZeroOne(on="positives") + 2 * models.ZeroOne(on="negatives")
OVERLAPPING = models.ZeroOne() + 3 * models.ZeroOne(on="positives")


def costs_of(objective: models.Objective, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    counted = {"all": np.ones(len(y), dtype=bool), "positives": y > 0, "negatives": y < 0}
    return sum(factor * np.where(counted[term.on], weights, 0.0) for factor, term in objective.terms)


@pytest.mark.parametrize("objective", [BY_CLASS, OVERLAPPING], ids=["by class", "overlapping"])
@pytest.mark.parametrize("seed", range(12))
def test_sums_equal_enumeration_and_are_certified(seed: int, objective: models.Objective) -> None:
    X, y, weights = tiny_instance(seed, KINDS[seed % len(KINDS)])
    problem = models.Model(X, y, minimize=objective, sample_weight=weights)
    result = mipclass.solve(problem)
    assert result.solver == "exact"
    assert result.certified
    assert result.recounted
    assert result.objective == pytest.approx(least_loss(X, y, costs_of(objective, y, weights)), rel=1e-12)


@pytest.mark.parametrize(
    ("solver", "margin", "constraints"),
    [
        ("exact", 0, [models.FalsePositiveRate(0.25)]),
        ("exact", 0, [models.MaxFeatures(1)]),
        ("exact", 1, [models.IntegerCoefficients(2)]),
        ("iis", 1, [models.Bounds(w=(-2, 2))]),
    ],
)
def test_sums_equal_class_weights(solver: str, margin: int, constraints: list[models.Constraint]) -> None:
    """Classes of equal sample weights: a cost for each class is a weight for each class."""
    X, y, _ = tiny_instance(3, "lattice", (2, 2), (8, 8))
    one = models.ZeroOne(on="positives", margin=margin) + 3 * models.ZeroOne(on="negatives", margin=margin)
    summed = mipclass.solve(models.Model(X, y, minimize=one, subject_to=constraints))
    costs = np.where(y > 0, 1.0, 3.0)
    weighted = models.Model(X, y, minimize=models.ZeroOne(margin=margin), subject_to=constraints, sample_weight=costs)
    assert summed.solver == solver
    assert summed.certified
    assert summed.objective == mipclass.solve(weighted).objective


def test_a_certificate_of_other_costs_is_rejected() -> None:
    X, y, _ = tiny_instance(3, "lattice", (2, 2), (8, 8))
    result = mipclass.solve(models.Model(X, y, minimize=BY_CLASS), "exact")
    assert mipclass.verify(result.certificate, X, y, problem=models.Model(X, y, minimize=BY_CLASS))
    turned = 2 * models.ZeroOne(on="positives") + 0.5 * models.ZeroOne(on="negatives")
    assert not mipclass.verify(result.certificate, X, y, problem=models.Model(X, y, minimize=turned))


def test_losses_of_two_margins_are_refused() -> None:
    X, y, _ = tiny_instance(3, "lattice", (2, 2), (8, 8))
    mixed = models.ZeroOne(on="positives", margin=1) + 0 * models.ZeroOne(on="negatives", margin=0)
    with pytest.raises(mipclass.MipclassError, match="margin"):
        mipclass.solve(models.Model(X, y, minimize=mixed), "exact")
