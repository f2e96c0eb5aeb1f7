"""Solver "subsystems" against the enumeration of all error sets, with weights and without an offset; its certificates and limits."""

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
from mipclass.methods.hard_margin.method import Directions, Subsystems
from tests.breadth import mostly_slow
from tests.truth.hard_margin import least_cost


def points(n: int, d: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rng.standard_normal((n, d)) + 0.5 * y[:, None], y


def model(X: Array, y: Array, C: float, a: float = 0.5, **how: Any) -> models.Model:
    return models.Model(X, y, minimize=a * models.L2() + C * models.ZeroOne(margin=1), **how)


@pytest.mark.parametrize("seed", mostly_slow(range(16), fast=range(4)))
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_optimum_equals_enumeration_and_is_certified(seed: int, intercept: bool, weighted: bool) -> None:
    d, C, a = 1 + seed % 4, (0.3, 2.0, 30.0, 1e4)[seed % 4], (0.5, 2.0)[seed % 2]
    X, y = points(7, d, seed)
    weights = np.random.default_rng(seed).uniform(0.2, 3.0, 7) if weighted else np.ones(7)
    problem = model(X, y, C, a, rule=models.Linear(intercept=intercept), sample_weight=weights)
    result = mipclass.solve(problem, solver="subsystems")
    assert result.status == "optimal"
    assert result.claim == "proven"
    assert result.recounted
    assert result.certified
    assert result.objective == pytest.approx(least_cost(X, y, a, C * weights, intercept=intercept), rel=1e-6)
    assert result.objective * (1 - 1e-8) <= result.bound <= result.objective


@pytest.mark.parametrize("seed", mostly_slow(range(4), fast=(0, 2)))
def test_both_searches_prove_the_same_cost(seed: int) -> None:
    problem = model(*points(40, 3, seed), C=(0.5, 3.0, 50.0, 1e4)[seed])
    boxes, trees = (mipclass.solve(problem, solver=name) for name in ("directions", "subsystems"))
    assert boxes.certified
    assert trees.certified
    assert boxes.objective == pytest.approx(trees.objective, rel=1e-8)


def test_a_stopped_search_has_a_bound_that_is_certified() -> None:
    X, y = points(80, 8, 3)
    problem = model(X - 0.5 * y[:, None], y, C=10.0)
    stopped = mipclass.solve(problem, solver="subsystems", options={"node_limit": 12_000, "starts": 20})
    assert stopped.status == "node_limit"
    assert stopped.nodes <= 12_000
    assert stopped.claim == "heuristic"
    assert 0.39 * stopped.objective <= stopped.bound < stopped.objective
    assert stopped.certified
    scip = mipclass.solve(problem, solver="scip", time_limit=3)
    assert stopped.bound <= scip.objective


def test_a_problem_far_from_its_proof_has_a_bound() -> None:
    X, y = points(120, 8, 1)
    problem = model(X - 0.5 * y[:, None], y, C=10.0)
    stopped = mipclass.solve(problem, solver="subsystems", options={"node_limit": 6_000, "starts": 5, "kicks": 20})
    assert stopped.status == "node_limit"
    assert stopped.certified
    assert 0.09 * stopped.objective <= stopped.bound < stopped.objective


def test_kicks_reach_the_optimum_that_descents_and_swaps_miss() -> None:
    problem = model(*points(40, 8, 6), C=100.0)
    proven = mipclass.solve(problem, solver="subsystems")
    assert proven.certified
    first = {
        kicks: mipclass.solve(problem, solver="subsystems", options={"node_limit": 1, "kicks": kicks}).objective
        for kicks in (0, 800)
    }
    assert first[0] > 1.05 * proven.objective
    assert first[800] == pytest.approx(proven.objective, rel=1e-9)


@pytest.mark.parametrize("step", mostly_slow(range(8), fast=(0, 5)))
def test_kicks_leave_a_constant_rule_where_all_descents_end(step: int) -> None:
    problem = model(*points(30, 2, 0), C=np.geomspace(0.05, 0.4, 8)[step])
    first = mipclass.solve(problem, solver="subsystems", options={"node_limit": 1, "starts": 0})
    assert first.objective == pytest.approx(mipclass.solve(problem, solver="directions").objective, rel=1e-8)


def test_auto_takes_it_for_many_features_weights_or_no_offset() -> None:
    X, y = points(20, 8, 0)
    assert mipclass.solve(model(X, y, 1.0)).solver == "subsystems"
    weighted = model(X[:, :2], y, 1.0, sample_weight=np.arange(1.0, 21.0))
    assert isinstance(Directions().match(weighted), Refusal)
    assert mipclass.solve(weighted).solver == "subsystems"
    assert mipclass.solve(model(X[:, :2], y, 1.0, rule=models.Linear(intercept=False))).solver == "subsystems"


def test_other_problems_are_refused() -> None:
    X, y = points(8, 2, 0)
    assert isinstance(Subsystems().match(models.Model(X, y, minimize=models.ZeroOne(margin=1))), Refusal)
    assert isinstance(Subsystems().match(model(X, y, 1.0, sample_weight=[0.0, *np.ones(7)])), Refusal)


@pytest.fixture(scope="module")
def proof() -> tuple[Array, Array, dict[str, Any]]:
    X, y = points(24, 4, 1)
    result = mipclass.solve(model(X, y, 2.0), solver="subsystems")
    assert result.certified
    assert result.nodes > 10
    return X, y, dict(result.certificate.content)


def changed_numbers(lower: dict[str, Any], name: str, kind: str, change: Any) -> None:
    lower[name] = pack(change(unpack(lower[name], kind, "").copy()))


@pytest.mark.parametrize(
    ("name", "kind", "change"),
    [
        ("tree", "i4", lambda numbers: numbers[:-1]),
        ("tree", "i4", lambda numbers: numbers[: len(numbers) // 2]),
        ("tree", "i4", lambda numbers: np.append(numbers, -1).astype("i4")),
        ("weights", "i8", lambda numbers: -numbers),
        ("weights", "i8", lambda numbers: numbers[:-1]),
        ("members", "i4", lambda numbers: numbers + 1),
    ],
)
def test_tampered_certificates_are_rejected(proof: Any, name: str, kind: str, change: Any) -> None:
    X, y, content = proof
    changed = copy.deepcopy(content)
    changed_numbers(changed["lower"], name, kind, change)
    assert mipclass.verify(content, X, y).accepted
    assert not mipclass.verify(changed, X, y).accepted


@pytest.mark.parametrize(("name", "kind"), [("tree", "i4"), ("members", "i4"), ("weights", "i8")])
def test_a_bound_above_the_optimum_is_rejected_whatever_the_evidence(proof: Any, name: str, kind: str) -> None:
    X, y, content = proof
    raised = copy.deepcopy(content)
    optimum = Fraction(content["upper"]["loss"])
    raised["upper"] = {"w": [(0.0).hex()] * 4, "b": (1.0).hex(), "loss": str(Fraction(2) * int((y < 0).sum()))}
    raised["lower"]["bound"] = str(optimum * (1 + Fraction(1, 10**6)))
    assert not mipclass.verify(raised, X, y).accepted
    rng = np.random.default_rng(0)
    for _ in range(40):
        changed = copy.deepcopy(raised)

        def nudge(numbers: Any) -> Any:
            numbers[rng.integers(len(numbers))] += rng.choice([-1, 1])
            return numbers

        changed_numbers(changed["lower"], name, kind, nudge)
        assert not mipclass.verify(changed, X, y).accepted


def test_a_certificate_without_offset_is_no_proof_for_rules_with_one(proof: Any) -> None:
    X, y = points(12, 2, 2)
    problem = model(X, y, 2.0, rule=models.Linear(intercept=False))
    content = dict(mipclass.solve(problem, solver="subsystems").certificate.content)
    assert mipclass.verify(content, X, y, problem=problem).accepted
    assert not mipclass.verify(content, X, y, problem=model(X, y, 2.0)).accepted
    changed = copy.deepcopy(content)
    changed["problem"]["intercept"] = True
    assert not mipclass.verify(changed, X, y).accepted


@pytest.mark.parametrize("seed", mostly_slow(range(8), fast=range(3)))
@pytest.mark.parametrize("outliers", [0, 1, 2])
def test_the_widest_margin_with_outliers_equals_enumeration_and_is_certified(seed: int, outliers: int) -> None:
    X, y = points(12, 1 + seed % 3, seed)
    problem = models.outlier_svm(X, y, outliers)
    truth = mipclass.solve(problem, solver="enumerate")
    result = mipclass.solve(problem, solver="subsystems")
    if truth.status == "infeasible":
        assert result.status == "iteration_limit"
        assert not result.values
        return
    assert result.claim == "proven"
    assert result.certified
    assert result.recounted
    assert result.objective == pytest.approx(truth.objective, rel=1e-6)


def test_the_widest_margin_without_offset_with_outliers() -> None:
    X, y = points(14, 2, 3)
    margin = models.HardMargin(3)
    problem = models.Model(
        X + y[:, None], y, rule=models.Linear(intercept=False), minimize=2 * models.L2(), subject_to=margin
    )
    truth, result = (mipclass.solve(problem, solver=name) for name in ("enumerate", "subsystems"))
    assert result.certified
    assert result.objective == pytest.approx(truth.objective, rel=1e-6)


def test_a_certificate_with_another_limit_is_rejected() -> None:
    X, y = points(16, 2, 7)
    problem = models.outlier_svm(X, y, 4)
    content = dict(mipclass.solve(problem, solver="subsystems").certificate.content)
    assert mipclass.verify(content, X, y, problem=problem).accepted
    assert not mipclass.verify(content, X, y, problem=models.outlier_svm(X, y, 5)).accepted
    for limit in (3, 5):
        changed = copy.deepcopy(content)
        changed["problem"]["limit"] = limit
        assert not mipclass.verify(changed, X, y).accepted


@pytest.mark.parametrize("seed", mostly_slow(range(8), fast=range(3)))
@pytest.mark.parametrize("each", [(0, 1), (1, 1), (2, 0), (1, 2)])
def test_limits_for_each_class_equal_enumeration_and_are_certified(seed: int, each: tuple[int, int]) -> None:
    X, y = points(12, 1 + seed % 3, seed)
    problem = models.outlier_svm(X + 0.5 * y[:, None], y, {1.0: each[0], -1.0: each[1]})
    truth = mipclass.solve(problem, solver="enumerate")
    result = mipclass.solve(problem, solver="subsystems")
    if truth.status == "infeasible":
        assert result.status == "iteration_limit"
        return
    assert result.claim == "proven"
    assert result.certified
    assert result.recounted
    assert result.objective == pytest.approx(truth.objective, rel=1e-6)


def test_a_certificate_with_other_limits_for_each_class_is_rejected() -> None:
    X, y = points(16, 2, 7)
    problem = models.outlier_svm(X + 0.5 * y[:, None], y, {1.0: 2, -1.0: 1})
    result = mipclass.solve(problem, solver="subsystems")
    content, data = dict(result.certificate.content), (X + 0.5 * y[:, None], y)
    assert "2 positives and 1 negatives" in str(mipclass.verify(content, *data))
    assert mipclass.verify(content, *data, problem=problem).accepted
    assert not mipclass.verify(content, *data, problem=models.outlier_svm(*data, 3)).accepted
    for limit in ([1, 2], [2, 2], [3, 1], [2], [2, 1, 0], [-1, 4], 3, 4, "2", None):
        changed = copy.deepcopy(content)
        changed["problem"]["limit"] = limit
        assert not mipclass.verify(changed, *data).accepted


def test_limits_for_each_class_without_offset_are_refused_with_the_reason_and_the_way_out() -> None:
    X, y = points(12, 2, 0)
    margin = models.HardMargin({1.0: 1, -1.0: 1})
    problem = models.Model(X, y, rule=models.Linear(intercept=False), minimize=models.L2(), subject_to=margin)
    refusal = Subsystems().match(problem)
    assert isinstance(refusal, Refusal)
    assert "together" in refusal.reason
    assert "scip" in refusal.reason


@pytest.mark.parametrize("seed", mostly_slow(range(6), fast=range(3)))
@pytest.mark.parametrize("outliers", [0, 1, 2])
def test_one_class_with_outliers_equals_enumeration_and_is_certified(seed: int, outliers: int) -> None:
    X, _ = points(10, 1 + seed % 3, seed)
    problem = models.outlier_svm(X + 1.5, None, outliers)
    truth, result = (mipclass.solve(problem, solver=name) for name in ("enumerate", "subsystems"))
    if truth.status == "infeasible":
        assert result.status == "iteration_limit"
        return
    assert result.claim == "proven"
    assert result.certified
    assert result.objective == pytest.approx(truth.objective, rel=1e-6)
    assert mipclass.verify(result.certificate.content, X + 1.5, np.ones(10), problem=problem).accepted


@pytest.mark.parametrize("seed", mostly_slow(range(6), fast=(0, 4)))
@pytest.mark.parametrize("intercept", [True, False])
def test_columns_in_units_far_apart_are_proven(seed: int, intercept: bool) -> None:
    X, y = points(7, 3, seed)
    X = X * np.array([1e3, 1e-3, 1.0])
    problem = model(X, y, (1.0, 100.0)[seed % 2], rule=models.Linear(intercept=intercept))
    result = mipclass.solve(problem, solver="subsystems")
    assert result.certified
    assert result.objective == pytest.approx(
        least_cost(X, y, 0.5, (1.0, 100.0)[seed % 2], intercept=intercept), rel=1e-6
    )
