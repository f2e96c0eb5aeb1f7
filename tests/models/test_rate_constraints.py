"""Limits on error rates and their parity across groups, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

import mipclass
from mipclass import models
from tests.models.small_data import MIP_SOLVERS, pm1, tiny
from tests.truth.zero_one import least_loss


@pytest.mark.parametrize("solver", MIP_SOLVERS)
@pytest.mark.parametrize("seed", range(3))
def test_rate_limits_equal_enumeration(solver: str, seed: int) -> None:
    X, y = tiny(seed, n=8)
    negative = pm1(y) < 0
    limit = int(np.floor(0.25 * negative.sum() + 1e-9))
    expected = least_loss(X, pm1(y), allowed=lambda errors: errors[negative].sum() <= limit)
    problem = models.Model(X, y, minimize=models.ZeroOne(), subject_to=models.FalsePositiveRate(at_most=0.25))
    result = mipclass.solve(problem, solver)
    assert result.objective == expected
    wrong = problem.predict(result.values) != y
    assert wrong[negative].mean() <= 0.25
    assert not problem.violations(result.values)


@pytest.mark.parametrize("seed", range(3))
def test_neyman_pearson_counts_only_positives(seed: int) -> None:
    X, y = tiny(seed, n=8)
    positive = pm1(y) > 0
    problem = models.Model(
        X, y, minimize=models.ZeroOne(on="positives"), subject_to=models.FalsePositiveRate(at_most=0.0)
    )
    result = mipclass.solve(problem, "highs")
    expected = least_loss(X, pm1(y), positive.astype(float), allowed=lambda errors: not errors[~positive].any())
    assert result.objective == expected


@pytest.mark.parametrize("rate", ["error", "positive", "false_positive", "false_negative"])
def test_parity_equals_enumeration_and_cannot_be_faked(rate: str) -> None:
    X, y = tiny(5, n=8)
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    groups = np.array(list("aaaabbbb"))
    constraint = models.RateParity(groups, at_most=0.3, rate=rate)
    problem = models.Model(X, y, minimize=models.ZeroOne(), subject_to=constraint)
    result = mipclass.solve(problem, "highs")

    def spread(errors: np.ndarray) -> float:
        positive = (y == 1) ^ errors
        counted = {"false_positive": y == 0, "false_negative": y == 1}.get(rate, np.ones(8, bool))
        happened = positive if rate == "positive" else errors
        rates = [happened[(groups == g) & counted].mean() for g in "ab"]
        return max(rates) - min(rates)

    assert result.objective == least_loss(X, pm1(y), allowed=lambda e: spread(e) <= 0.3, exactly=True)
    assert spread(problem.predict(result.values) != y) <= 0.3
