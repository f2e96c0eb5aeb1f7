"""Constant columns under every constraint that may speak of their weights; truth by enumeration, and by solver "exact" where the offset is tied."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mipclass import models, solve
from mipclass.backends.scip import ScipBackend
from tests.breadth import mostly_slow
from tests.truth.zero_one import least_loss

SOLVERS = ["highs", *(["scip"] if ScipBackend.is_installed() else [])]


def _points(seed: int, value: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two features that vary, the same with a constant third one, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 2))
    y = (X[:, 0] + 0.7 * rng.normal(size=12) > 0).astype(int)
    return X, np.column_stack([X, np.full(12, value)]), y


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("value", [0.0, 0.1, 3.3, 1e-7, 1e12])
def test_a_constant_column_gets_no_weight_of_its_own(solver: str, value: float) -> None:
    X, with_constant, y = _points(0, value)
    least = least_loss(X, np.where(y > 0, 1.0, -1.0))
    for constraints in ([], [models.MaxFeatures(2)], [models.Monotone({2: 1})]):
        result = solve(models.zero_one(with_constant, y, subject_to=constraints), solver)
        assert (result.claim, result.objective, result.recounted) == ("proven", least, True)
        assert result.values["w"][2] == 0.0
        assert np.abs(result.values["b"]) < 1e8


def _rows(name: str, problem: Any) -> Any:
    """Homogeneous rows on the weight of the constant column."""
    w, b = problem.w, problem.b
    return {
        "above": w[2] >= w[0],
        "far above": w[2] >= 100 * w[0],
        "opposite": w[2] <= -w[0],
        "equal": w[2] - w[0] - w[1] == 0,
        "with the offset": w[2] + b >= 0,
        "offset alone": b <= 0,
    }[name]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("rows", ["above", "far above", "opposite", "equal", "with the offset", "offset alone"])
@pytest.mark.parametrize("value", mostly_slow([0.0, 0.1, -3.3], fast=[0.1]))
def test_rows_on_the_weight_of_a_constant_column(solver: str, rows: str, value: float) -> None:
    """Where the offset is free, the column's part of the score moves into it, so that rows on its weight exclude no rule."""
    X, with_constant, y = _points(1, value)
    constraint = _rows(rows, models.zero_one(with_constant, y))
    truth = solve(models.zero_one(with_constant, y, subject_to=[constraint]), "exact")
    result = solve(models.zero_one(with_constant, y, subject_to=[constraint]), solver)
    assert truth.claim == result.claim == "proven"
    assert result.recounted
    assert result.objective == truth.objective
    if "offset" not in rows:
        assert result.objective == least_loss(X, np.where(y > 0, 1.0, -1.0))


@pytest.mark.parametrize("solver", mostly_slow(SOLVERS, fast=["highs"]))
def test_rows_and_max_features_together_count_the_constant_column(solver: str) -> None:
    """w2 = w0 makes the constant column a feature wherever w0 is one: of two features, only w1 alone or w0 and w2 are left."""
    X, with_constant, y = _points(2, 3.3)
    signs = np.where(y > 0, 1.0, -1.0)
    tied = models.zero_one(with_constant, y)
    tied.subject_to(tied.w[2] == tied.w[0], models.MaxFeatures(2))
    result = solve(tied, solver)
    assert result.claim == "proven"
    assert result.recounted
    assert result.objective == min(least_loss(X[:, :1], signs), least_loss(X[:, 1:], signs))


def test_two_constant_columns_in_one_row_are_left_without_a_bound() -> None:
    X, with_constant, y = _points(3, 0.1)
    twice = np.column_stack([with_constant, np.full(len(y), 5.0)])
    problem = models.zero_one(twice, y)
    problem.subject_to(problem.w[2] >= problem.w[3], problem.w[3] >= 10 * problem.w[0])
    result = solve(problem, "highs")
    assert (result.claim, result.objective) == ("proven", least_loss(X, np.where(y > 0, 1.0, -1.0)))


def test_a_start_with_weight_on_a_constant_column_is_taken_over_by_the_offset() -> None:
    _, with_constant, y = _points(4, 3.3)
    problem = models.zero_one(with_constant, y)
    best = solve(problem, "exact")
    w, b = best.values["w"] + [0.0, 0.0, 7.0], best.values["b"] - 7.0 * 3.3
    start = problem.encode({"w": w, "b": b})
    program = problem.program()
    assert program.violation(start) <= 1e-6
    assert program.objective(start) == best.objective
