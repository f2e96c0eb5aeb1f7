"""Homogeneous rows on (w, b) by boxes: equal to enumeration, certified, with limits and without; tampered cones rejected."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mipclass
from mipclass import models
from mipclass.certificates.certificate import Statement
from mipclass.methods.exact import plain
from mipclass.methods.exact.box.cone import cone_of
from tests.truth.zero_one import KINDS, least_loss, tiny_instance

FAST = {"local_steps": 200}


def rows_on_weights(seed: int, d: int, count: int) -> list[np.ndarray]:
    """Rows a over (w, b): signs of single weights, orders of two, and small whole numbers."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        a = np.zeros(d + 1)
        kind = rng.integers(3)
        if kind == 0:
            a[rng.integers(d + 1)] = rng.choice([-1.0, 1.0])
        elif kind == 1 and d > 1:
            a[rng.choice(d, 2, replace=False)] = 1.0, -1.0
        else:
            a = rng.integers(-2, 3, d + 1).astype(float)
        if a.any():
            found.append(a)
    return found


def with_rows(problem: models.Model, rows: list[np.ndarray]) -> models.Model:
    for a in rows:
        problem.subject_to(a[:-1] @ problem.w + a[-1] * problem.b >= 0)
    return problem


@pytest.fixture
def boxes_alone(monkeypatch):
    """Tiny problems go to branch and cut otherwise."""
    monkeypatch.setattr(plain, "provers_for", lambda n_features, loss: ("box",))


ROWS = {
    "seed": st.integers(0, 10**6),
    "points": st.sampled_from(KINDS),
    "count": st.integers(1, 3),
    "rate": st.sampled_from([None, 0.0, 0.25, 0.5]),
    "standardised": st.booleans(),
    "prover": st.sampled_from(["box", None]),
}


@given(**ROWS)
@settings(max_examples=20, deadline=None)
def test_rows_equal_enumeration_and_are_certified(seed, points, count, rate, standardised, prover):
    check_rows(seed, points, count, rate, standardised, prover)


@pytest.mark.slow
@given(**ROWS)
@settings(max_examples=80, deadline=None)
def test_rows_equal_enumeration_on_many(seed, points, count, rate, standardised, prover):
    check_rows(seed, points, count, rate, standardised, prover)


def check_rows(seed, points, count, rate, standardised, prover):
    X, y, weights = tiny_instance(seed, points)
    if len(np.unique(y)) < 2:
        return
    if standardised:
        X = (X - X.mean(0)) / np.where(X.std(0) > 0, X.std(0), 1.0)
    rows = rows_on_weights(seed, X.shape[1], count)
    limits = [] if rate is None else [models.FalsePositiveRate(rate)]
    problem = with_rows(models.Model(X, y, minimize=models.ZeroOne(), subject_to=limits, sample_weight=weights), rows)
    share = Fraction(str(1.0 if rate is None else rate))
    truth = least_loss(
        X,
        y,
        weights,
        sides=[(a, 0.0) for a in rows],
        allowed=lambda wrong: int(weights[wrong & (y < 0)].sum()) <= share * int(weights[y < 0].sum()),
    )
    with pytest.MonkeyPatch.context() as patch:
        if prover is not None:
            patch.setattr(plain, "provers_for", lambda n_features, loss: (prover,))
        result = mipclass.solve(problem, solver="exact", options=FAST)
    assert result.certified
    assert result.claim == "proven"
    if truth is None:
        assert result.status == "infeasible"
        return
    assert result.objective == result.bound == truth
    assert not problem.violations(result.values)


def noisy(seed: int, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, np.where(X[:, 0] - X[:, 1] + rng.normal(0, 1.0, n) > 0, 1, -1)


@pytest.fixture(scope="module")
def monotone() -> tuple[models.Model, mipclass.Result]:
    """The sign of the second weight is opposite to that of the best rule."""
    X, y = noisy(0)
    problem = models.Model(X, y, minimize=models.ZeroOne(), subject_to=models.Monotone({0: 1, 1: 1}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain, "provers_for", lambda n_features, loss: ("box",))
        result = mipclass.solve(problem, solver="exact")
    assert result.certificate.kind == "box"
    return problem, result


def test_boxes_prove_what_branch_and_cut_proves(monotone):
    problem, result = monotone
    other = mipclass.solve(problem, solver="iis")
    free = mipclass.solve(models.zero_one(problem.X, problem.y_pm1), solver="exact")
    assert result.claim == other.claim == "proven"
    assert result.objective == result.bound == other.objective > free.objective
    assert not problem.violations(result.values)


def test_limits_and_rows_together(boxes_alone):
    X, y = noisy(3, n=40)
    problem = models.neyman_pearson(X, y, 0.1).subject_to(models.Monotone({0: 1, 1: 1}))
    result = mipclass.solve(problem, solver="exact")
    other = mipclass.solve(problem, solver="iis")
    assert result.certificate.kind in ("priced", "limited")
    assert result.certified
    assert result.objective == result.bound == other.objective


def test_a_constant_column_with_a_row_of_its_own():
    """w of the constant column is tied to another weight, and the offset is bounded: neither may be dropped."""
    X = np.column_stack([np.arange(6.0), np.ones(6)])
    y = np.array([1, 1, -1, 1, -1, -1])
    problem = models.Model(X, y, minimize=models.ZeroOne(), subject_to=models.Bounds(b=(-np.inf, 0)))
    problem.subject_to(problem.w[0] >= problem.w[1])
    result = mipclass.solve(problem, solver="exact")
    truth = least_loss(X, y, sides=[(np.array([0.0, 0, -1]), 0.0), (np.array([1.0, -1, 0]), 0.0)])
    assert result.certified
    assert result.objective == result.bound == truth


def test_a_cone_has_an_interior_or_is_none():
    costs = np.ones(3)
    assert cone_of(Statement(costs)) is None
    assert cone_of(Statement(costs, rows=((np.array([1.0, 0]), 1.0),))) is None
    assert cone_of(Statement(costs, rows=((np.array([1.0, 0]), 0.0), (np.array([-1.0, 0]), 0.0)))) is None
    cone = cone_of(Statement(costs, rows=((np.array([1.0, 0]), 0.0), (np.array([-1.0, 1.0]), 0.0))))
    assert cone is not None
    assert (cone.rows @ cone.interior > 0).all()
    tied = np.array([0.0, 1.0])
    assert cone.has(tied)
    assert not cone.has_inside(tied)
    inner = cone.inner(tied, np.array([[3.0, 1.0]]))
    assert cone.has_inside(inner)
    assert np.array([3.0, 1.0]) @ inner > 0


def change_interior(lower: dict[str, Any]) -> None:
    lower["interior"] = [(-float.fromhex(value)).hex() for value in lower["interior"]]


CHANGES = {
    "no interior": lambda lower: lower.pop("interior"),
    "a rule outside the cone for its interior": change_interior,
    "the origin for its interior": lambda lower: lower.update(interior=[(0.0).hex()] * len(lower["interior"])),
    "no weight of rows": lambda lower: lower.pop("row_weight"),
    "rows that weigh nothing": lambda lower: lower.update(row_weight=0),
    "a negative weight": lambda lower: lower.update(row_weight=-1),
    "a higher bound": lambda lower: lower.update(bound=str(Fraction(lower["bound"]) + 1)),
    "a map that loses rules": lambda lower: lower["proof"].update(map=[(0.0).hex()] * len(lower["proof"]["map"])),
    "an inverse": lambda lower: lower["proof"].update(inverse=lower["proof"]["map"]),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_cone_is_rejected(monotone, what):
    problem, result = monotone
    bad = copy.deepcopy(dict(result.certificate.content))
    bad["upper"] = None
    CHANGES[what](bad["lower"])
    verdict = mipclass.verify(bad, problem.X, problem.y_pm1)
    assert not verdict.accepted
    assert verdict.reason


def test_fewer_rows_than_the_proof_is_about_are_rejected(monotone):
    """A proof among the rules of a cone says nothing about a larger cone."""
    problem, result = monotone
    bad = copy.deepcopy(dict(result.certificate.content))
    bad["problem"]["rows"] = bad["problem"]["rows"][:1]
    assert not mipclass.verify(bad, problem.X, problem.y_pm1).accepted


def test_a_row_is_not_a_point_of_a_lemma(monotone):
    """As a point it would have to be right by the relative margin; a rule that ties the row keeps it."""
    problem, result = monotone
    bad = copy.deepcopy(dict(result.certificate.content))
    n = len(bad["lower"]["points"])
    bad["lower"]["proof"]["lemmas"].append({"kind": "iis", "rows": [0, n], "bound": 1})
    verdict = mipclass.verify(bad, problem.X, problem.y_pm1)
    assert not verdict.accepted
    assert "for a point" in verdict.reason


MARGIN = models.ZeroOne(margin=1)
POINTED = {
    "a margin": (MARGIN, [], "exact", "use solver='iis'"),
    "a penalty": (MARGIN + 0.1 * models.L1(), [], "iis", "Use solver='auto'"),
    "parity with a margin": (
        MARGIN,
        [models.RateParity([0, 1, 0, 1], 0.1)],
        "iis",
        "which solver='exact' proves, or solver='scip'",
    ),
}


@pytest.mark.parametrize("what", POINTED)
def test_what_nobody_certifies_is_refused_with_a_pointer(what):
    minimise, constraints, solver, pointer = POINTED[what]
    X, y = np.arange(4.0)[:, None], np.array([0, 1, 0, 1])
    problem = models.Model(X, y, minimize=minimise, subject_to=constraints)
    with pytest.raises(mipclass.MipclassError, match=pointer):
        mipclass.solve(problem, solver=solver)
