"""Branch and bound for scorecards against the enumeration of all lattice points, and the reference sets."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

import mipclass
from mipclass import datasets, models
from mipclass.errors import UnsupportedProgramError
from mipclass.methods.logistic.cards import Cards
from mipclass.methods.logistic.kernels.cone import relax
from mipclass.methods.logistic.lattice import Lattice
from mipclass.protocol.result import Status
from tests.truth.logistic import best_card

FREE = (0.25, 8.0)


def tiny(seed: int, n: int = 14, d: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n, d)).astype(float) if seed % 2 else np.round(rng.normal(size=(n, d)), 2)
    y = np.where(X[:, 0] + rng.normal(size=n) > X[:, 0].mean(), 1, -1)
    y[:2] = 1, -1
    return X, y


@given(st.integers(0, 10_000), st.sampled_from([1.0, 0.5, FREE]), st.integers(1, 3), st.sampled_from([0.0, 0.3]))
@settings(max_examples=4, deadline=None)
def test_proofs_agree_with_enumeration(seed: int, multiplier: Any, most: int, l0: float) -> None:
    X, y = tiny(seed)
    offsets = range(-8, 9)
    box = models.Bounds(b=(-8, 8))
    problem = models.Model(
        X, y, minimize=models.Logistic(multiplier) + l0 * models.L0(),
        subject_to=[models.IntegerCoefficients(2, intercept=True), models.MaxFeatures(most), box],
    )  # fmt: skip
    result = mipclass.solve(problem, "lattice")
    pair = multiplier if isinstance(multiplier, tuple) else (multiplier, multiplier)
    truth = best_card(X, y, 2, most, offsets, pair, penalty=lambda w: l0 * np.count_nonzero(w))
    assert result.claim == "proven"
    assert result.recounted
    assert result.objective == pytest.approx(truth, rel=1e-8)
    assert result.bound is not None
    assert result.bound <= truth * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_penalties_signs_and_weights(seed: int) -> None:
    X, y = tiny(seed)
    c = np.random.default_rng(seed).integers(1, 4, size=len(y)).astype(float)
    problem = models.Model(
        X, y, minimize=2.0 * models.Logistic() + 0.4 * models.L1() + 0.2 * models.L2(), sample_weight=c,
        subject_to=[models.IntegerCoefficients(2, intercept=True), models.Monotone({0: 1}), models.Bounds(b=(-6, 6))],
    )  # fmt: skip
    truth = best_card(
        X, y, 2, 3, range(-6, 7), (1.0, 1.0), c=2.0 * c,
        penalty=lambda w: 0.4 * np.abs(w).sum() + 0.2 * (w @ w) + (np.inf if w[0] < 0 else 0.0),
    )  # fmt: skip
    result = mipclass.solve(problem, "lattice")
    assert result.claim == "proven"
    assert result.objective == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("multiplier", [1.0, FREE])
def test_error_rates_and_rows_hold_at_the_optimum(multiplier: Any) -> None:
    X, y = tiny(1, n=16)
    constraints = [
        models.IntegerCoefficients(2, intercept=True),
        models.FalsePositiveRate(0.2),
        models.Bounds(b=(-8, 8)),
    ]
    problem = models.Model(X, y, minimize=models.Logistic(multiplier), subject_to=constraints)
    problem.subject_to(problem.w[0] >= problem.w[1])
    negatives = X[y < 0]

    def admits(w: Any, b: float) -> bool:
        return bool(((negatives @ w + b) >= 0).mean() <= 0.2 and w[0] >= w[1])

    pair = multiplier if isinstance(multiplier, tuple) else (multiplier, multiplier)
    truth = best_card(X, y, 2, 3, range(-8, 9), pair, admits=admits)
    result = mipclass.solve(problem)
    assert result.solver == "lattice"
    assert not problem.violations(result.values)
    assert result.claim == "proven"
    assert result.objective == pytest.approx(truth, rel=1e-8)


def test_few_real_weights_agree_with_all_supports() -> None:
    X, y = tiny(4, n=30, d=4)
    few = [models.MaxFeatures(2), models.Bounds(w=(-3, 3))]
    result = mipclass.solve(models.Model(X, y, minimize=models.Logistic() + 0.1 * models.L2(), subject_to=few))
    assert result.solver == "lattice"
    assert result.claim == "proven"
    losses = []
    for i in range(4):
        for j in range(i):
            sub = models.Model(X[:, [i, j]], y, minimize=models.Logistic() + 0.1 * models.L2(), subject_to=few[1])
            losses.append(mipclass.solve(sub, "newton").objective)
    assert result.objective == pytest.approx(min(losses), rel=1e-6)


def test_bounds_of_boxes_hold_wherever_the_minimiser_stops() -> None:
    """Every card in a box has at least the loss that the box's bound states."""
    X, y = tiny(3, n=20)
    problem = models.Model(
        X, y, minimize=models.Logistic(FREE), subject_to=models.IntegerCoefficients(3, intercept=True)
    )
    form = Lattice().match(problem)
    cards = Cards.of(form)
    rng = np.random.default_rng(0)
    for _ in range(60):
        ends = np.sort(rng.integers(-3, 4, size=(2, 3)), axis=0).astype(float)
        lower, upper = np.append(ends[0], -np.inf), np.append(ends[1], np.inf)
        start = np.append(rng.normal(size=4), 1.0)
        bound, value, _ = relax(
            cards.signed, cards.c, lower, upper, cards.cone, np.zeros(4), np.zeros(4), start, float(rng.uniform(0, 20))
        )
        assert bound <= value + 1e-9
        w = np.array([rng.integers(a, b + 1) for a, b in zip(ends[0], ends[1], strict=True)], dtype=float)
        assert bound <= cards.card(w).objective * (1 + 1e-12)


def test_limits_leave_a_valid_bound() -> None:
    X, y = tiny(5, n=60, d=6)
    problem = models.Model(
        X,
        y,
        minimize=models.Logistic(),
        subject_to=[models.IntegerCoefficients(5, intercept=True), models.MaxFeatures(3)],
    )
    proven = mipclass.solve(problem, "lattice")
    stopped = mipclass.solve(problem, "lattice", options={"node_limit": 3})
    assert stopped.status is Status.NODE_LIMIT
    assert stopped.claim == "heuristic"
    assert stopped.bound <= proven.objective <= stopped.objective
    interrupted = mipclass.solve(problem, "lattice", callback=lambda event: False)
    assert interrupted.status is Status.INTERRUPTED
    again = mipclass.solve(problem, "lattice", warm_start=proven)
    assert again.objective == proven.objective


def test_what_it_refuses_says_why() -> None:
    X, y = tiny(0)
    whole = models.IntegerCoefficients(5)
    for terms, constraints, words in [
        (models.Logistic(), [], "newton"),
        (models.Logistic(FREE) + models.L1(), [whole], "multiplier"),
        (models.Logistic(FREE), [models.MaxFeatures(1)], "multiplier"),
        (models.Logistic(), [models.MaxFeatures(1)], "finite"),
        (models.Logistic(), [whole, models.FalsePositiveRate(0.1)], "whole offset"),
        (models.Hinge(), [whole], "Logistic"),
    ]:
        with pytest.raises(UnsupportedProgramError, match=words):
            mipclass.solve(models.Model(X, y, minimize=terms, subject_to=constraints), "lattice")
    empty = models.Model(X, y, minimize=models.Logistic(), subject_to=[whole, models.Bounds(w=(0.2, 0.8))])
    assert mipclass.solve(empty, "lattice").status is Status.INFEASIBLE


@pytest.mark.skipif("MIPCLASS_DATA" not in os.environ, reason="needs the data sets in MIPCLASS_DATA")
@pytest.mark.parametrize(("name", "fasterrisk"), [("mammo", 444.95874), ("breastcancer", 56.43534)])
def test_reference_sets_are_proven(name: str, fasterrisk: float) -> None:
    """At most five features, points in -5..5; FasterRisk 0.1.10 reaches the given losses."""
    X, y = datasets.load(f"risk_{name}", download=False)
    problem = models.Model(
        X, y, minimize=models.Logistic(models.Logistic.FREE),
        subject_to=[models.IntegerCoefficients(5, intercept=True), models.MaxFeatures(5)],
    )  # fmt: skip
    result = mipclass.solve(problem)
    assert result.claim == "proven"
    assert result.recounted
    assert result.objective < fasterrisk


def test_a_gap_that_stays_is_not_called_optimal():
    """Features from 0.1 to 2500 without standardising: bounds of some nodes stay low, and the result says so."""
    X, y = load_breast_cancer(return_X_y=True)
    problem = models.Model(X[:, :6], y, minimize=models.Logistic() + 2 * models.L0(), subject_to=models.Bounds((-5, 5)))
    result = mipclass.solve(problem, "lattice")
    closed = result.gap <= 1e-6
    assert (result.status is Status.OPTIMAL) == closed
    assert (result.claim == "proven") == closed
    assert result.bound <= 115.9997  # the optimum by cutting planes
    assert closed or "Standardise" in result.raw_status
