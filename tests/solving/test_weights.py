"""Weights of any size and any digits: proven losses against brute force in fractions, for methods and backends."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.random import Generator

import mipclass
from mipclass import models
from tests.breadth import mostly_slow
from tests.truth.weighted import least_exact_loss

PROVERS = ("exact", "box", "iis")
ENUMERATORS = ("pcs", "bnb")
BACKENDS = ("highs", "scip")
ACCURACY = {"highs": 1e-6, "scip": 1e-6}
"""What solvers' own tolerances allow, as a fraction of the loss; methods count exactly or to n / 2^52."""


def balanced(rng: Generator) -> models.Model:
    """Two costs without a common measure on points of a lattice, many of them equal with opposite labels."""
    X, y = rng.integers(0, 2, (30, 3)).astype(float), rng.choice([-1, 1], 30)
    return models.zero_one(X, y, class_weight="balanced")


def weighted(rng: Generator, weights: np.ndarray) -> models.Model:
    n = len(weights)
    y = np.concatenate([[-1, 1], rng.choice([-1, 1], n - 2)])
    return models.zero_one(rng.standard_normal((n, 2)), y, sample_weight=weights)


def over_six_decades(rng: Generator) -> models.Model:
    return weighted(rng, 10 ** rng.uniform(-3, 3, 12))


def huge_and_tiny(rng: Generator) -> models.Model:
    return weighted(rng, 10 ** rng.choice([-12.0, -6.0, 0.0, 6.0, 12.0], 12) * rng.uniform(0.5, 2.0, 12))


def tiny(rng: Generator) -> models.Model:
    return weighted(rng, np.full(12, 1e-12))


@cache
def truth_of(draw: Callable[[Generator], models.Model], seed: int) -> Fraction:
    problem = draw(np.random.default_rng(seed))
    return least_exact_loss(problem.X, problem.y_pm1, problem.weights)


def check(draw: Callable[[Generator], models.Model], seed: int, solver: str) -> None:
    pytest.importorskip("pyscipopt" if solver == "scip" else "highspy")
    problem = draw(np.random.default_rng(seed))
    truth, accuracy = truth_of(draw, seed), ACCURACY.get(solver, 1e-9)
    result = mipclass.solve(problem, solver=solver)
    assert (result.status, result.claim, result.recounted) == ("optimal", "proven", True)
    assert result.objective == pytest.approx(float(truth), rel=accuracy, abs=0.0)
    assert float(truth) * (1 - accuracy) <= result.bound <= result.objective
    if solver in PROVERS:
        assert result.certified
        assert result.certificate.lower <= truth <= result.certificate.upper


@pytest.mark.parametrize("solver", [*PROVERS, *ENUMERATORS, *BACKENDS])
@pytest.mark.parametrize("draw", [balanced, over_six_decades, huge_and_tiny, tiny])
def test_the_proven_loss_is_that_of_brute_force(draw, solver):
    for seed in range(2):
        check(draw, seed, solver)


@pytest.mark.slow
@pytest.mark.parametrize("solver", [*PROVERS, *ENUMERATORS, *BACKENDS])
@pytest.mark.parametrize("draw", [balanced, over_six_decades, huge_and_tiny, tiny])
def test_the_proven_loss_is_that_of_brute_force_on_many(draw, solver):
    for seed in range(2, 60):
        check(draw, seed, solver)


@pytest.mark.parametrize("solver", [*PROVERS, *ENUMERATORS, "csa", "local", "sla", "highs"])
@pytest.mark.parametrize("size", mostly_slow([1e-12, 1e-9, 1e12], fast=[1e-12]))
def test_the_unit_of_the_weights_changes_nothing(solver, size):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 2))
    y = np.where(X[:, 0] + rng.standard_normal(40) > 0, 1, -1)
    plain = mipclass.solve(models.zero_one(X, y), solver=solver)
    sized = mipclass.solve(models.zero_one(X, y, sample_weight=np.full(40, size)), solver=solver)
    assert (sized.status, sized.claim) == (plain.status, plain.claim)
    assert sized.nodes == plain.nodes or solver in BACKENDS
    assert sized.objective == pytest.approx(size * plain.objective, rel=1e-12)
    assert sized.bound == pytest.approx(size * plain.bound, rel=1e-12)
    assert sized.gap == pytest.approx(plain.gap, abs=1e-12)


def test_two_costs_are_proven_to_the_last_digit():
    rng = np.random.default_rng(2)
    problem = models.zero_one(rng.standard_normal((30, 2)), rng.choice([-1, 1], 30), class_weight={-1: 0.1, 1: 0.37})
    for solver in PROVERS:
        result = mipclass.solve(problem, solver=solver)
        verdict = mipclass.verify(result.certificate, problem.X, problem.y_pm1)
        assert verdict.optimal
        scores = problem.X @ result.values["w"] + result.values["b"]
        assert verdict.upper == sum(map(Fraction, problem.weights[problem.y_pm1 * scores <= 0].tolist()))


def test_limits_count_exactly():
    """Three negatives of weight 0.1 may be wrong where 0.3 is allowed by the rate, though 0.1 + 0.1 + 0.1 exceeds 0.3 in float64."""
    X = np.arange(20.0)[:, None]
    y = np.where(np.arange(20) < 10, -1, 1)
    y[[17, 18, 19]] = -1
    y[[0, 1, 2, 3]] = 1
    weights = np.where(y > 0, 1.0, 0.1)
    allowed = models.FalsePositiveRate(at_most=3 / 9)
    problem = models.zero_one(X, y, sample_weight=weights, subject_to=[allowed])
    result = mipclass.solve(problem, solver="exact")
    assert (result.status, result.claim, result.certified) == ("optimal", "proven", True)
    assert result.objective == pytest.approx(4.3)
