"""Solver "directions" against the enumeration of all error sets, its certificates, and its limits."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import mipclass
from mipclass import models
from mipclass.arrays import Array
from mipclass.certificates.certificate import pack
from mipclass.checker.arithmetic import unpack
from mipclass.methods.base import Refusal
from mipclass.methods.hard_margin.method import Directions
from tests.breadth import mostly_slow
from tests.truth.hard_margin import least_cost


def points(n: int, d: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rng.standard_normal((n, d)) + 0.5 * y[:, None], y


def model(X: Array, y: Array, C: float, a: float = 0.5) -> models.Model:
    return models.Model(X, y, minimize=a * models.L2() + C * models.ZeroOne(margin=1))


@pytest.mark.parametrize("seed", mostly_slow(range(12), fast=(0, 1, 2, 7)))
def test_optimum_equals_enumeration_and_is_certified(seed: int) -> None:
    d, C, a = 1 + seed % 3, (0.3, 2.0, 30.0, 1e4)[seed % 4], (0.5, 2.0)[seed % 2]
    X, y = points(8, d, seed)
    result = mipclass.solve(model(X, y, C, a), solver="directions")
    assert result.status == "optimal"
    assert result.claim == "proven"
    assert result.recounted
    assert result.certified
    assert result.objective == pytest.approx(least_cost(X, y, a, C), rel=1e-6)
    assert result.objective * (1 - 1e-8) <= result.bound <= result.objective


def test_features_of_far_units_change_nothing_but_the_scale() -> None:
    X, y = points(8, 2, 5)
    X = X * [1.0, 1000.0]
    result = mipclass.solve(model(X, y, 2.0), solver="directions")
    assert result.certified
    assert result.objective == pytest.approx(least_cost(X, y, 0.5, 2.0), rel=1e-6)


def test_equal_points_of_both_classes_and_lattice_data() -> None:
    X = np.array([[0.0, 0], [0, 0], [1, 0], [1, 0], [0, 1], [1, 1], [2, 1]])
    y = np.array([1.0, -1, 1, -1, 1, -1, 1])
    result = mipclass.solve(model(X, y, 3.0), solver="directions")
    assert result.certified
    assert result.objective == pytest.approx(least_cost(X, y, 0.5, 3.0), rel=1e-6)


def test_a_node_limit_leaves_a_bound_and_the_incumbent() -> None:
    X, y = points(40, 4, 3)
    result = mipclass.solve(model(X, y, 1.0), solver="directions", options={"node_limit": 1, "starts": 5})
    proven = mipclass.solve(model(X, y, 1.0), solver="directions")
    assert result.status == "node_limit"
    assert result.claim == "heuristic"
    assert result.bound <= proven.objective <= result.objective * (1 + 1e-9)


@pytest.mark.parametrize(
    ("minimise", "rule"),
    [
        (models.ZeroOne(margin=1), models.Linear()),
        (0.5 * models.L2() + models.Hinge(), models.Linear()),
        (0.5 * models.L2() + models.ZeroOne(margin=1), models.Linear(intercept=False)),
    ],
)
def test_other_problems_are_refused(minimise: Any, rule: Any) -> None:
    X, y = points(8, 2, 0)
    assert isinstance(Directions().match(models.Model(X, y, rule=rule, minimize=minimise)), Refusal)


def test_unequal_weights_are_refused() -> None:
    X, y = points(8, 2, 0)
    problem = models.Model(
        X, y, minimize=0.5 * models.L2() + models.ZeroOne(margin=1), sample_weight=np.arange(1.0, 9.0)
    )
    assert isinstance(Directions().match(problem), Refusal)


@pytest.fixture(scope="module")
def proof() -> tuple[Array, Array, dict[str, Any]]:
    X, y = points(24, 3, 1)
    result = mipclass.solve(model(X, y, 2.0), solver="directions")
    assert result.certified
    return X, y, dict(result.certificate.content)


def missing_leaf(lower: dict[str, Any]) -> None:
    lower["ops"] = pack(unpack(lower["ops"], "u1", "")[:-1])


def shorter_evidence(lower: dict[str, Any]) -> None:
    lower["evidence"] = pack(unpack(lower["evidence"], "i4", "")[:-1])


def other_weights(lower: dict[str, Any]) -> None:
    lower["weights"] = pack(-unpack(lower["weights"], "i8", ""))


def other_scales(lower: dict[str, Any]) -> None:
    lower["exponents"] = [exponent + 8 * k for k, exponent in enumerate(lower["exponents"])]


@pytest.mark.parametrize("tamper", [missing_leaf, shorter_evidence, other_weights, other_scales])
def test_tampered_certificates_are_rejected(proof: Any, tamper: Any) -> None:
    X, y, content = proof
    changed = copy.deepcopy(content)
    tamper(changed["lower"])
    assert mipclass.verify(content, X, y).accepted
    assert not mipclass.verify(changed, X, y).accepted


def above_the_optimum(content: dict[str, Any], n_negatives: int, C: float) -> dict[str, Any]:
    """The certificate with a worse rule, the constant one, and a bound slightly above the optimum."""
    changed = copy.deepcopy(content)
    optimum = Fraction(content["upper"]["loss"])
    changed["upper"] = {"w": [(0.0).hex()] * 3, "b": (1.0).hex(), "loss": str(Fraction(C) * n_negatives)}
    changed["lower"]["bound"] = str(optimum * (1 + Fraction(1, 10**6)))
    return changed


def test_a_bound_above_the_optimum_is_rejected_whatever_the_evidence(proof: Any) -> None:
    X, y, content = proof
    rng = np.random.default_rng(0)
    raised = above_the_optimum(content, int((y < 0).sum()), 2.0)
    assert "node" in mipclass.verify(raised, X, y).place
    for _ in range(60):
        numbers = unpack(raised["lower"]["evidence"], "i4", "").copy()
        numbers[rng.integers(len(numbers))] += rng.choice([-1, 1])
        changed = {**raised, "lower": {**raised["lower"], "evidence": pack(numbers)}}
        assert not mipclass.verify(changed, X, y).accepted


@pytest.mark.parametrize("name", ["coefficient", "costs"])
def test_a_certificate_of_another_problem_is_rejected(proof: Any, name: str) -> None:
    X, y, content = proof
    changed = copy.deepcopy(content)
    changed["problem"][name] = (3.0).hex() if name == "coefficient" else [(3.0).hex()] * len(y)
    assert not mipclass.verify(changed, X, y).accepted
    assert not mipclass.verify(content, X, y, problem=model(X, y, 5.0)).accepted
    assert mipclass.verify(content, X, y, problem=model(X, y, 2.0)).accepted


@pytest.mark.parametrize(("seed", "n", "d"), [(1039, 6, 4), (1197, 4, 3), (1321, 6, 4)])
def test_a_box_that_stays_open_shows_the_rule_that_the_first_descents_missed(seed: int, n: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    assert (int(rng.integers(4, 9)), int(rng.integers(1, 5))) == (n, d)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.normal(size=(n, d)) if seed % 3 else rng.integers(-2, 3, size=(n, d)).astype(float)
    C = float(10 ** rng.uniform(-1.5, 4))
    a = float(rng.choice([0.5, 1, 3.7]))
    result = mipclass.solve(model(X, y, C, a), solver="directions", options={"starts": 100})
    assert result.certified
    assert result.objective == pytest.approx(least_cost(X, y, a, C), rel=1e-6)


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_general_solvers_start_from_a_good_rule(solver: str) -> None:
    problem = model(*points(40, 4, 0), C=1.0)
    proven = mipclass.solve(problem, solver="directions")
    started = mipclass.solve(problem, solver=solver, time_limit=3)
    assert proven.certified
    assert started.objective <= 1.05 * proven.objective
    assert started.bound <= proven.objective * (1 + 1e-6)
