"""Limits on error rates and their parity across groups, against enumeration."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

import mipclass
from mipclass import models
from mipclass.errors import InvalidInputError
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


@pytest.mark.parametrize("solver", ["highs", "exact"])
@pytest.mark.parametrize("seed", range(3))
def test_precision_equals_enumeration(solver: str, seed: int) -> None:
    X, y = tiny(seed, n=8)
    positive = pm1(y) > 0

    def is_precise(errors: np.ndarray) -> bool:
        true = int((positive & ~errors).sum())
        return 10 * true >= 7 * (true + int((~positive & errors).sum()))

    problem = models.Model(X, y, minimize=models.ZeroOne(on="positives"), subject_to=models.Precision(at_least=0.7))
    result = mipclass.solve(problem, solver)
    assert result.objective == least_loss(X, pm1(y), positive.astype(float), allowed=is_precise)
    assert is_precise(problem.predict(result.values) != y)
    assert not problem.violations(result.values)


def test_a_precision_of_seven_tenths_is_met_exactly() -> None:
    """Seven true of ten called positive keep 0.7, although 0.7 is no float64."""
    X, y = np.ones((12, 1)), np.array([1] * 9 + [0] * 3)
    X[7:9] = 0.0
    X[9:] = 2.0
    problem = models.Model(X, y, minimize=models.ZeroOne(), subject_to=models.Precision(at_least=0.7))
    assert not problem.violations({"w": np.array([1.0]), "b": np.asarray(-0.5)})
    X[6] = 0.0
    problem = models.Model(X, y, minimize=models.ZeroOne(), subject_to=models.Precision(at_least=0.7))
    violated = problem.violations({"w": np.array([1.0]), "b": np.asarray(-0.5)})
    assert violated == {"precision >= 0.7": pytest.approx(0.7 - 6 / 9)}


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_features_are_fewest_under_a_limit_of_errors(k: int) -> None:
    X, y = tiny(1, n=8)
    result = mipclass.solve(models.Model(X, y, minimize=models.L0(), subject_to=models.Errors(at_most=k)), "highs")
    least = least_loss(X, pm1(y))
    assert (result.status == "infeasible") == (least > k)
    if least <= k:
        sizes = [m for m in range(X.shape[1] + 1) for zero in combinations(range(X.shape[1]), X.shape[1] - m)
                 if least_loss(X, pm1(y), zero=zero) <= k]  # fmt: skip
        assert result.objective == min(sizes)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: models.Errors(-1), "must be a number >= 0"),
        (lambda: models.Errors(np.nan), "must be a number >= 0"),
        (lambda: models.Precision(90), "0.9 for ninety per cent"),
    ],
)
def test_limits_out_of_range_are_refused(make, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        make()


SCALE_FREE = [
    [models.Errors(1)],
    [models.FalsePositiveRate(0.1), models.FalseNegativeRate(0.3)],
    [models.Errors(1), models.Monotone({0: 1}), models.MaxFeatures(1)],
    [models.Errors(1), models.Bounds(w=(-3, 3))],
]
"""Limits on errors that a small multiple of every rule keeps as the rule does."""


@pytest.mark.parametrize("constraints", SCALE_FREE)
@pytest.mark.parametrize("penalty", [models.L1(), 2 * models.L2(), models.L1() + models.L0()])
def test_a_penalty_under_limits_on_errors_needs_a_scale(penalty: models.Objective, constraints: list) -> None:
    X, y = tiny(0, n=8)
    problem = models.Model(X, y, minimize=penalty, subject_to=constraints)
    with pytest.raises(InvalidInputError, match=r"minimize=0 \* ZeroOne\(margin=1\) \+ L[12]\(\)"):
        mipclass.solve(problem, time_limit=10)


@pytest.mark.parametrize("k", [0, 1, 2])
def test_a_margin_gives_a_penalty_under_limits_a_scale(k: int) -> None:
    """The least |w|_1 over all sets of k points that may be errors, each by a linear program."""
    X, y = tiny(1, n=7)
    Z = pm1(y)[:, None] * np.column_stack([X, np.ones(len(y))])
    d = X.shape[1]
    least = np.inf
    for kept in combinations(range(len(y)), len(y) - k):
        A = np.column_stack([Z[list(kept), :d], -Z[list(kept), :d], Z[list(kept), d:]])
        costs = np.append(np.ones(2 * d), 0.0)
        found = linprog(costs, A_ub=-A, b_ub=-np.ones(len(kept)), bounds=[(0, None)] * (2 * d) + [(None, None)])
        least = min(least, found.fun) if found.success else least
    problem = models.Model(X, y, minimize=0 * models.ZeroOne(margin=1) + models.L1(), subject_to=models.Errors(k))
    result = mipclass.solve(problem)
    if least == np.inf:
        assert result.status == "infeasible"
    else:
        assert result.objective == pytest.approx(least, rel=1e-5)
        assert not result.certified


def test_whole_weights_and_rows_away_from_zero_are_a_scale() -> None:
    X, y = tiny(0, n=8)
    for constraint in (models.IntegerCoefficients(3), models.Bounds(b=(1, 2))):
        problem = models.Model(X, y, minimize=models.L1(), subject_to=[models.Errors(3), constraint])
        assert mipclass.solve(problem, time_limit=20).status == "optimal"


@pytest.mark.parametrize("unit", [1e-7, 1.0, 1e7])
@pytest.mark.parametrize("solver", MIP_SOLVERS)
def test_limits_do_not_depend_on_the_unit_of_the_sample_weights(solver: str, unit: float) -> None:
    """Calling nothing positive keeps any precision and needs no feature: with so costly features it is the optimum."""
    X = [[-1.54, -0.48, 1.16], [-0.31, 0.1, -0.29], [-0.71, -0.35, 0.85], [-0.9, 1.34, 0.73]]
    y, weights = np.array([0, 1, 0, 0]), unit * np.array([7.8, 8.8, 5.3, 2.5])
    limits = [
        models.IntegerCoefficients(3),
        models.Precision(1 - 0.34),
    ]  # 0.6599999999999999, which no few decimals make whole
    cost = 1e6 * unit * models.L0()
    problem = models.Model(X, y, minimize=models.ZeroOne(margin=1) + cost, subject_to=limits, sample_weight=weights)
    nothing_positive = {"w": np.zeros(3), "b": np.array(-3.0)}
    assert problem.violations(nothing_positive) == {}
    result = mipclass.solve(problem, solver)
    assert result.objective == pytest.approx(problem.recount(nothing_positive)) == pytest.approx(weights[1])
