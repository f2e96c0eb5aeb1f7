"""Cutting planes for smooth losses on MIP solvers: bounds are valid, optima agree with enumeration and with other solvers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import mipclass
from mipclass import models
from mipclass.errors import UnsupportedProgramError
from tests.breadth import mostly_slow
from tests.methods.logistic.test_lattice import tiny
from tests.truth.logistic import best_card, loss

WHOLE = [models.IntegerCoefficients(2, intercept=True), models.MaxFeatures(2), models.Bounds(b=(-6, 6))]


@pytest.mark.parametrize("solver", ["cutting-plane", "highs", "scip"])
@pytest.mark.parametrize("seed", mostly_slow([0, 1], fast=[0]))
def test_scorecards_agree_with_enumeration(solver: str, seed: int) -> None:
    X, y = tiny(seed)
    result = mipclass.solve(models.Model(X, y, minimize=models.Logistic(), subject_to=WHOLE), solver)
    truth = best_card(X, y, 2, 2, range(-6, 7), (1.0, 1.0))
    assert result.claim == "proven"
    assert result.recounted
    assert result.objective == pytest.approx(truth, rel=1e-6)
    assert result.bound <= truth + 1e-9


def test_squared_hinge_agrees_with_the_quadratic_program() -> None:
    X, y = tiny(3)
    problem = models.Model(X, y, minimize=models.SquaredHinge(), subject_to=WHOLE)
    cuts, squares = mipclass.solve(problem, "cutting-plane"), mipclass.solve(problem, "highs")
    assert cuts.claim == "proven"
    assert cuts.objective == pytest.approx(squares.objective, rel=1e-6)


def test_rates_with_a_real_offset() -> None:
    X, y = tiny(5)
    constraints = [models.IntegerCoefficients(2), models.FalsePositiveRate(0.0), models.Bounds(b=(-6, 6))]
    problem = models.Model(X, y, minimize=models.Logistic(), subject_to=constraints)
    result = mipclass.solve(problem, time_limit=30)
    assert result.solver == "cutting-plane"
    assert not problem.violations(result.values)
    assert result.bound <= result.objective + 1e-9


def _least_loss_with_one_false_positive(X: Any, y: Any) -> float:
    """The best over the negative that may be wrong; the others have a margin of 0.001, as the model's scope says."""

    def value(z: Any) -> float:
        return loss(X, y, z[:-1], z[-1])

    best = np.inf
    for free in np.flatnonzero(y < 0):
        kept = X[(y < 0) & (np.arange(len(y)) != free)]
        sides = {"type": "ineq", "fun": lambda z, kept=kept: -(kept @ z[:-1] + z[-1]) - 1e-3}
        found = minimize(value, np.append(np.zeros(X.shape[1]), -1.0), method="SLSQP", constraints=sides)
        best = min(best, float(found.fun))
    return best


@pytest.mark.parametrize("seed", [0, 2])
def test_a_rate_limit_needs_no_bounds_where_a_solver_has_indicators(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 2))
    y = np.where(X[:, 0] + rng.normal(size=20) > 0, 1, -1)
    limit = 1.5 / np.sum(y < 0)
    result = mipclass.solve(
        models.Model(X, y, minimize=models.Logistic(), subject_to=models.FalsePositiveRate(limit)), time_limit=60
    )
    assert result.solver == "scip"
    assert result.claim == "proven"
    truth = _least_loss_with_one_false_positive(X, y)
    assert result.objective == pytest.approx(truth, rel=1e-5)
    assert result.bound <= truth * (1 + 1e-5)


def test_the_exported_program_is_an_outer_approximation_and_says_so(tmp_path: Path) -> None:
    X, y = tiny(1)
    problem = models.Model(X, y, minimize=models.Logistic(), subject_to=WHOLE)
    assert "outer approximation" in problem.scope()
    result = mipclass.solve(problem, "cutting-plane")
    program = result.extra["outer_approximation"]
    program.write(tmp_path / "card.lp")
    text = (tmp_path / "card.lp").read_text()
    assert "outer_approximation" in text
    assert text.count("tangent") >= result.extra["tangents"] - 1
    below = mipclass.solve(mipclass.read(tmp_path / "card.lp"), "highs").objective
    assert below <= result.objective + 1e-6
    assert below == pytest.approx(result.bound, rel=1e-4)


def test_continuous_problems_on_backends() -> None:
    X, y = tiny(2, n=40)
    problem = models.Model(X, y, minimize=0.5 * models.L2() + models.Logistic(), subject_to=models.Bounds(b=(-5, 5)))
    best = mipclass.solve(problem, "newton").objective
    assert mipclass.solve(problem, "highs").objective == pytest.approx(best, rel=1e-5)


def test_what_it_refuses() -> None:
    X, y = tiny(0)

    def refused(term: Any, words: str) -> None:
        with pytest.raises(UnsupportedProgramError, match=words):
            mipclass.solve(models.Model(X, y, minimize=term, subject_to=WHOLE), "cutting-plane")

    refused(models.Hinge(), "smooth")
    refused(models.Logistic((0.5, 2.0)), "multiplier")
    with pytest.raises(UnsupportedProgramError, match="lattice"):
        models.Model(X, y, minimize=models.Logistic((0.5, 2.0)), subject_to=WHOLE).program()
