"""Multipliers of limits beyond 64 bits: bounds and proofs under limits on errors with weights over twelve orders of magnitude."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mipclass
from mipclass import models
from mipclass.methods.exact.iis.cover import constrained_cover
from mipclass.methods.exact.iis.master import Relaxation
from mipclass.methods.exact.iis.tree import IISSearch
from mipclass.methods.exact.statement import statement_of
from tests.breadth import mostly_slow
from tests.truth.dichotomies import least_limited_loss

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

X = [[3, -2], [3, 2], [-3, -1], [1, -2], [-1, -3], [0, 1], [-3, 3], [1, 1], [0, 3], [-2, 3], [2, -2], [1, 1]]
Y = [0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1]
WEIGHTS = [1, 1e-6, 1e-6, 1e6, 1e-6, 1e6, 1e6, 1, 1, 1e6, 1e6, 1e6]


@pytest.mark.parametrize("solver", ["exact", "iis"])
def test_a_limit_that_tiny_weights_break_is_proven(solver):
    limit = models.FalsePositiveRate(0.0)
    problem = models.zero_one(X, Y, sample_weight=WEIGHTS, class_weight="balanced", subject_to=limit)
    truth = least_limited_loss(X, problem.y_pm1, statement_of(problem))
    result = mipclass.solve(problem, solver)
    assert (result.status, result.claim, result.certified) == ("optimal", "proven", True)
    assert truth is not None
    assert result.objective == pytest.approx(float(truth), rel=1e-12)
    assert result.certificate.lower <= truth <= result.certificate.upper


def drawn(seed: int) -> tuple[np.ndarray, models.Model]:
    """Points on a lattice with weights over twelve orders of magnitude, under one limit or two."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 14))
    points, y = rng.integers(-3, 4, (n, 2)), rng.choice([0, 1], n)
    y[:2] = 0, 1
    weights = 10.0 ** (rng.choice([-6, 0, 6], n) if rng.random() < 0.5 else rng.uniform(-6, 6, n))
    rate = float(rng.choice([0.0, 1e-9, 1e-3, 0.25, 0.5]))
    limits = [
        [models.FalsePositiveRate(rate)],
        [models.FalseNegativeRate(rate)],
        [models.FalsePositiveRate(rate), models.FalseNegativeRate(0.5)],
        [models.Errors(rate * float(weights.sum()))],
    ][int(rng.integers(4))]
    balance = "balanced" if rng.random() < 0.5 else None
    return points, models.zero_one(points, y, sample_weight=weights, class_weight=balance, subject_to=limits)


def check(seed: int, solver: str) -> None:
    points, problem = drawn(seed)
    truth = least_limited_loss(points.tolist(), problem.y_pm1, statement_of(problem))
    result = mipclass.solve(problem, solver, options={"local_steps": 200} if solver == "iis" else {})
    if truth is None:
        assert result.objective is None
        return
    assert result.status != "infeasible"
    assert Fraction(result.certificate.content["lower"]["bound"]) <= truth
    assert result.bound <= float(truth) * (1 + 1e-12)
    if result.claim == "proven":
        assert result.objective == pytest.approx(float(truth), rel=1e-9)
    if result.objective is not None:
        assert result.objective >= float(truth) * (1 - 1e-12)


@pytest.mark.parametrize("solver", ["exact", "iis"])
@pytest.mark.parametrize("first", mostly_slow(range(0, 400, 25), fast=[0]))
def test_no_bound_exceeds_what_some_line_costs(first, solver):
    for seed in range(first, first + 25):
        check(seed, solver)


@pytest.mark.parametrize("size", [1e6, 1e12, 1e18, 1e24, 1e300])
@pytest.mark.parametrize("is_ray", [True, False])
def test_multipliers_of_any_size_prove_no_more_than_what_is_true(size, is_ray):
    limit = models.FalsePositiveRate(0.5)
    problem = models.zero_one(X, Y, sample_weight=WEIGHTS, subject_to=limit)
    truth = least_limited_loss(X, problem.y_pm1, statement_of(problem))
    data = constrained_cover(np.asarray(problem.X), problem.y_pm1, statement_of(problem))
    search = IISSearch(data)
    search.advance(lambda: False)
    supports = np.arange(len(search.master.supports))
    assert search.best_W is not None
    called = tuple(np.flatnonzero(data.errors(search.best_W)).tolist())
    rng = np.random.default_rng(0)
    for _ in range(50):
        v, mu = (size * rng.random(k) ** 4 for k in (len(supports), 1))
        relaxed = Relaxation(np.inf, None if is_ray else np.zeros(data.n), supports, v, mu)
        for wrong in ((), called[:1], called):
            proof = search.leaves.better(search.leaves.nothing(), relaxed, wrong, (), lambda: False)
            assert data.constant + data.unit * proof.bound <= truth
