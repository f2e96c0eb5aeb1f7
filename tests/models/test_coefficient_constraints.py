"""Limits on features, signs and whole-number weights, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

import mipclass
from mipclass import models
from mipclass.errors import InvalidInputError
from tests.models.small_data import pm1, tiny
from tests.truth.zero_one import least_loss


@pytest.mark.parametrize("seed", range(4))
def test_feature_limits_and_signs_equal_enumeration(seed: int) -> None:
    X, y = tiny(seed, n=7, d=3)
    one_feature = mipclass.solve(
        models.Model(X, y, minimize=models.ZeroOne(), subject_to=models.MaxFeatures(1)), "highs"
    )
    expected = min(least_loss(X, pm1(y), zero={0, 1, 2} - {j}) for j in range(3))
    assert one_feature.objective == expected
    assert np.count_nonzero(one_feature.values["w"]) <= 1
    rising = models.Model(X, y, minimize=models.ZeroOne(), subject_to=models.Monotone({"x0": +1, "x1": "decreasing"}))
    result = mipclass.solve(rising, "highs")
    assert result.objective == least_loss(X, pm1(y), sides=[([1, 0, 0, 0], 0), ([0, -1, 0, 0], 0)])
    assert result.values["w"][0] >= 0 >= result.values["w"][1]
    numbered = models.zero_one(X, y, subject_to=[models.Monotone({0: +1}), models.Bounds(w={1: (-np.inf, 0.0)})])
    assert mipclass.solve(numbered, "highs").objective == result.objective
    ordered = models.zero_one(X, y)
    ordered = ordered.subject_to(ordered.w["x0"] >= ordered.w["x2"])
    assert mipclass.solve(ordered, "highs").objective == least_loss(X, pm1(y), sides=[([1, 0, -1, 0], 0)])


@pytest.mark.parametrize("seed", range(3))
def test_scorecard_equals_enumeration_of_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 4, (12, 2)).astype(float), rng.integers(0, 2, 12)
    y[:2] = 0, 1
    problem = models.Model(X, y, minimize=models.ZeroOne(), subject_to=models.IntegerCoefficients(-2, 2))
    result = mipclass.solve(problem, "highs")
    best = 12
    for w in np.ndindex(5, 5):
        scores = X @ (np.array(w) - 2.0)
        for threshold in np.append(np.unique(scores) - 0.5, scores.max() + 0.5):
            best = min(best, int(np.sum((scores > threshold) != (y == 1))))
    assert result.objective == best
    assert np.array_equal(result.values["w"], np.round(result.values["w"]))


def test_one_number_means_a_range_around_zero() -> None:
    five, three = models.IntegerCoefficients(5), models.IntegerCoefficients(-3)
    assert (five.lower, five.upper) == (-5, 5)
    assert (three.lower, three.upper) == (-3, 3)
    assert models.IntegerCoefficients() == five
    assert models.IntegerCoefficients(0, 3).lower == 0
    with pytest.raises(InvalidInputError, match="whole number"):
        models.IntegerCoefficients(2.5)  # type: ignore[arg-type]
