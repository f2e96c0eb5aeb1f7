"""Solver "balls" against the enumeration of all sets of outliers; its certificates, limits and bounds."""

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
from mipclass.checker.balls import ramp
from mipclass.checker.balls.quick import QuickRounds
from mipclass.checker.balls.tree import BallProblem, Records
from mipclass.checker.balls.whole import WholeRounds
from mipclass.methods.base import Refusal
from mipclass.methods.robust_svm.ball_proof.method import Balls
from tests.breadth import mostly_slow
from tests.truth.ramp import least_ramp

FEW = {"starts": 3}


def points(n: int, d: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rng.standard_normal((n, d)) + 0.3 * y[:, None], y


def model(X: Array, y: Array, C: float, theta: float, s: float, a: float = 0.5, **how: Any) -> models.Model:
    how = {"rule": models.Linear(intercept=False), **how}
    return models.Model(X, y, minimize=a * models.L2() + C * models.Ramp(theta, s), **how)


@pytest.mark.parametrize("seed", mostly_slow(range(12), fast=range(4)))
@pytest.mark.parametrize("offset", [False, "penalised", True])
def test_optimum_equals_enumeration_and_is_certified(seed: int, offset: Any) -> None:
    d, C, a = 1 + seed % 3, (0.3, 2.0, 30.0)[seed % 3], (0.5, 2.0)[seed % 2]
    theta, s = (0.0, 0.0, 0.4, 0.1)[seed % 4], (0.0, -1.0, -0.5)[seed % 3]
    X, y = points(6, d, seed)
    weights = np.random.default_rng(seed).uniform(0.2, 3.0, 6) if seed % 2 else np.ones(6)
    problem = model(X, y, C, theta, s, a, rule=models.Linear(intercept=offset), sample_weight=weights)
    result = mipclass.solve(problem, solver="balls", options=FEW)
    Z = y[:, None] * (np.column_stack([X, np.ones(6)]) if offset else X)
    assert result.status == "optimal"
    assert result.claim == "proven"
    assert result.recounted
    assert result.certified
    assert result.objective == pytest.approx(least_ramp(Z, a, C * weights, theta, s, int(offset is True)), rel=1e-6)
    assert result.objective * (1 - 1e-8) <= result.bound <= result.objective


def test_equal_points_are_one_and_points_of_weight_zero_none() -> None:
    X, y = points(6, 2, 3)
    twice, labels = np.vstack([X, X[:3], X[:1] + 9]), np.concatenate([y, y[:3], y[:1]])
    weights = np.array([1.0] * 9 + [0.0])
    repeated = mipclass.solve(model(twice, labels, 2.0, 0.0, 0.0, sample_weight=weights), "balls", options=FEW)
    weighted = mipclass.solve(model(X, y, 2.0, 0.0, 0.0, sample_weight=[2, 2, 2, 1, 1, 1]), "balls", options=FEW)
    assert repeated.certified
    assert repeated.objective == pytest.approx(weighted.objective, rel=1e-9)


def test_whole_numbers_for_theta_and_s_are_taken() -> None:
    X, y = points(8, 2, 0)
    result = mipclass.solve(model(X, y, 1, 0, 0, 1), "balls", options=FEW)
    assert result.certified
    assert result.objective == mipclass.solve(model(X, y, 1.0, 0.0, 0.0, 1.0), "balls", options=FEW).objective


def test_theta_one_is_the_svm() -> None:
    X, y = points(30, 3, 0)
    result = mipclass.solve(model(X, y, 1.0, 1.0, 0.0), "balls", options=FEW)
    hinge = models.Model(X, y, minimize=0.5 * models.L2() + models.Hinge(), rule=models.Linear(intercept=False))
    assert result.certified
    assert result.objective == pytest.approx(mipclass.solve(hinge).objective, rel=1e-6)


def test_it_agrees_with_a_mixed_integer_solver() -> None:
    X, y = points(12, 2, 5)
    problem = model(X, y, 1.0, 0.2, -0.5)
    result = mipclass.solve(problem, "balls", options=FEW)
    highs = mipclass.solve(problem, "highs", time_limit=60)
    assert result.certified
    assert result.objective == pytest.approx(highs.objective, rel=1e-5)


def overlapping(n: int, d: int) -> tuple[Array, Array]:
    """Two normal classes, with 15 % of the labels flipped."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.standard_normal((n, d)) + 0.8 * y[:, None] / np.sqrt(d)
    y[rng.random(n) < 0.15] *= -1
    return X, y


@pytest.mark.parametrize(("C", "s"), mostly_slow([(1.0, -1.0), (100.0, -1.0)], fast=[(1.0, -1.0)]))
def test_nodes_without_rules_are_closed_however_large_their_multipliers_are(C: float, s: float) -> None:
    """With multipliers cut off at 2,048 C the search did not close such nodes, and took more than 10,000."""
    result = mipclass.solve(model(*overlapping(26, 2), C, 0.0, s), "balls", options={**FEW, "node_limit": 3000})
    assert result.status == "optimal"
    assert result.certified


def test_packed_conflicts_raise_the_bound_of_the_root() -> None:
    """The envelopes alone give 22 of 187."""
    result = mipclass.solve(model(*overlapping(60, 2), 10.0, 0.0, 0.0), "balls", options={**FEW, "node_limit": 1})
    assert result.certified
    assert 0.5 * result.objective < result.bound < result.objective


def test_a_stopped_search_has_a_bound_that_is_certified() -> None:
    X, y = points(60, 5, 1)
    problem = model(X - 0.3 * y[:, None], y, 1.0, 0.0, 0.0)
    stopped = mipclass.solve(problem, "balls", options={"node_limit": 60, "starts": 0})
    assert stopped.status == "node_limit"
    assert stopped.claim == "heuristic"
    assert stopped.certified
    assert 0 < stopped.bound < stopped.objective
    later = mipclass.solve(problem, "balls", options={"node_limit": 200, "starts": 0})
    assert stopped.bound < later.bound
    assert later.certified


def test_a_kernel_rule_is_proven_without_a_certificate() -> None:
    X, y = points(16, 2, 2)
    linear = mipclass.solve(model(X, y, 1.0, 0.0, 0.0), "balls", options=FEW)
    same = mipclass.solve(
        models.robust_svm(X @ X.T, y, 1.0, 0.0, 0.0, kernel=models.Kernel("precomputed")), "balls", options=FEW
    )
    assert same.claim == "proven"
    assert same.certificate is None
    assert "certificates cover linear rules" in same.extra["uncertified"]
    assert same.objective == pytest.approx(linear.objective, rel=1e-7)


def test_other_losses_are_refused() -> None:
    assert isinstance(Balls().match(models.zero_one(*points(8, 2, 0))), Refusal)


def test_a_free_offset_follows_the_points_wherever_they_lie() -> None:
    X, y = points(12, 2, 4)
    near = mipclass.solve(model(X, y, 2.0, 0.0, 0.0, rule=models.Linear()), "balls", options=FEW)
    far = mipclass.solve(
        model(X + np.array([512.0, -4096.0]), y, 2.0, 0.0, 0.0, rule=models.Linear()), "balls", options=FEW
    )
    assert near.certified
    assert far.certified
    assert far.objective == pytest.approx(near.objective, rel=1e-8)
    assert far.values["w"] == pytest.approx(near.values["w"], rel=1e-6)


def test_a_free_offset_agrees_with_a_mixed_integer_solver() -> None:
    problem = model(*points(12, 2, 5), 1.0, 0.2, -0.5, rule=models.Linear())
    result = mipclass.solve(problem, "balls", options=FEW)
    assert result.certified
    assert result.objective == pytest.approx(mipclass.solve(problem, "scip", time_limit=60).objective, rel=1e-5)


def test_a_constant_rule_is_proven_best() -> None:
    X, y = points(9, 2, 1)
    result = mipclass.solve(model(X, y, 1e-3, 0.0, -1.0, rule=models.Linear()), "balls", options=FEW)
    assert result.certified
    assert result.objective == pytest.approx(
        least_ramp(y[:, None] * np.column_stack([X, np.ones(9)]), 0.5, np.full(9, 1e-3), 0.0, -1.0, 1)
    )


def test_auto_proves_few_points_and_follows_the_path_of_many() -> None:
    assert mipclass.solve(model(*points(12, 2, 0), 1.0, 0.0, 0.0)).solver == "balls"
    assert mipclass.solve(model(*overlapping(30, 2), 1.0, 0.0, 0.0)).solver == "balls"
    assert mipclass.solve(model(*overlapping(30, 6), 1.0, 0.0, 0.0)).solver == "outlier-path"
    assert mipclass.solve(model(*points(300, 2, 0), 1.0, 0.0, 0.0)).solver == "outlier-path"


def test_auto_proves_a_free_offset_whatever_the_number_of_points() -> None:
    result = mipclass.solve(model(*points(30, 2, 0), 0.01, 0.0, 0.0, rule=models.Linear()))
    assert result.solver == "balls"
    assert result.certified


@pytest.fixture(scope="module", params=[False, True])
def proof(request: Any) -> tuple[Array, Array, models.Model, dict[str, Any]]:
    """A certified proof without an offset, and one with a free offset."""
    X, y = points(14 if request.param else 24, 3, 1)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(y))  # multipliers that coarse units do not hit
    problem = model(X, y, 2.0, 0.0, 0.0, sample_weight=weights, rule=models.Linear(intercept=request.param))
    result = mipclass.solve(problem, "balls", options=FEW)
    assert result.certified
    assert result.nodes > 10
    return X, y, problem, dict(result.certificate.content)


@pytest.mark.parametrize(
    ("name", "kind", "change"),
    [
        ("ops", "i4", lambda numbers: numbers[:-1]),
        ("ops", "i4", lambda numbers: np.append(numbers, -1).astype("i4")),
        ("ops", "i4", lambda numbers: np.where(numbers == -2, -1, numbers).astype("i4")),
        ("ops", "i4", lambda numbers: numbers + 100),
        ("coarse", "i4", lambda numbers: -numbers),
        ("coarse", "i4", lambda numbers: numbers[:-1]),
        ("coarse", "i4", lambda numbers: numbers // 2),
        ("fine", "i8", lambda numbers: numbers[:-1]),
        ("precise", "u1", lambda numbers: 1 - numbers),
    ],
)
def test_tampered_certificates_are_rejected(proof: Any, name: str, kind: str, change: Any) -> None:
    X, y, _, content = proof
    changed = copy.deepcopy(content)
    changed["lower"][name] = pack(change(unpack(changed["lower"][name], kind, "").copy()))
    assert mipclass.verify(content, X, y).accepted
    assert not mipclass.verify(changed, X, y).accepted


@pytest.mark.parametrize(("name", "kind"), [("ops", "i4"), ("coarse", "i4"), ("fine", "i8")])
def test_a_bound_above_the_optimum_is_rejected_whatever_the_evidence(proof: Any, name: str, kind: str) -> None:
    X, y, _, content = proof
    raised = copy.deepcopy(content)
    optimum = Fraction(content["upper"]["loss"])
    raised["upper"] = {"w": [(0.0).hex()] * 3, "b": (0.0).hex(), "loss": "48"}
    raised["lower"]["bound"] = str(optimum * (1 + Fraction(1, 10**6)))
    assert not mipclass.verify(raised, X, y).accepted
    rng = np.random.default_rng(0)
    for _ in range(20):
        changed = copy.deepcopy(raised)
        numbers = unpack(changed["lower"][name], kind, "").copy()
        numbers[rng.integers(len(numbers))] += rng.choice([-1, 1])
        changed["lower"][name] = pack(numbers)
        assert not mipclass.verify(changed, X, y).accepted


@pytest.mark.parametrize(
    "change",
    [
        {"theta": (0.5).hex()},
        {"s": (-1.0).hex()},
        {"coefficient": (0.25).hex()},
        {"intercept": "penalised"},
        {"intercept": 1},
        {"intercept": 0},
    ],
)
def test_a_certificate_of_another_problem_is_rejected(proof: Any, change: dict[str, Any]) -> None:
    X, y, problem, content = proof
    changed = copy.deepcopy(content)
    changed["problem"] |= change
    assert mipclass.verify(content, X, y, problem=problem).accepted
    assert not mipclass.verify(changed, X, y, problem=problem).accepted


@pytest.fixture(scope="module", params=[False, "penalised", True])
def packed(request: Any) -> tuple[Array, Array, dict[str, Any]]:
    """A certified proof with groups of conflicting points, without, with a penalised and with a free offset."""
    X, y = overlapping(20, 2)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(y))
    problem = model(X, y, 30.0, 0.2, -0.5, sample_weight=weights, rule=models.Linear(intercept=request.param))
    result = mipclass.solve(problem, "balls", options=FEW)
    assert result.certified
    content = dict(result.certificate.content)
    assert unpack(content["lower"]["groups"], "u1", "").max() > 1
    return X, y, content


@pytest.mark.parametrize(
    ("name", "kind", "change"),
    [
        ("groups", "u1", lambda numbers: 0 * numbers),
        ("groups", "u1", lambda numbers: np.minimum(numbers, 1)),
        ("groups", "u1", lambda numbers: numbers + np.uint8(1)),
        ("groups", "u1", lambda numbers: numbers[:-1]),
        ("grouped", "u1", lambda numbers: 1 - numbers),
        ("grouped", "u1", lambda numbers: 0 * numbers),
        ("grouped", "u1", lambda numbers: numbers[:-1]),
        ("shifts", "i2", lambda numbers: numbers + np.int16(4)),
        ("shifts", "i2", lambda numbers: numbers - np.int16(4)),
        ("shifts", "i2", lambda numbers: numbers + np.int16(600)),
        ("shifts", "i2", lambda numbers: numbers[:-1]),
        ("coarse", "i4", lambda numbers: 0 * numbers),
    ],
)
def test_tampered_groups_are_rejected(packed: Any, name: str, kind: str, change: Any) -> None:
    X, y, content = packed
    changed = copy.deepcopy(content)
    changed["lower"][name] = pack(change(unpack(changed["lower"][name], kind, "").copy()))
    assert mipclass.verify(content, X, y).accepted
    assert not mipclass.verify(changed, X, y).accepted


def test_no_groups_prove_a_bound_above_the_optimum(packed: Any) -> None:
    X, y, content = packed
    raised = copy.deepcopy(content)
    raised["lower"]["bound"] = str(Fraction(content["upper"]["loss"]) * (1 + Fraction(1, 10**6)))
    raised["upper"] = {"w": [(0.0).hex()] * 2, "b": (0.0).hex(), "loss": "1000"}
    rng = np.random.default_rng(0)
    for _ in range(20):
        changed = copy.deepcopy(raised)
        groups, numbers = (
            unpack(changed["lower"][name], kind, "").copy() for name, kind in (("groups", "u1"), ("coarse", "i4"))
        )
        groups[rng.integers(len(groups), size=20)] = rng.integers(0, 5, 20)
        numbers[rng.integers(len(numbers), size=20)] *= 3
        changed["lower"] |= {"groups": pack(groups), "coarse": pack(numbers)}
        assert not mipclass.verify(changed, X, y).accepted


def test_floating_point_keeps_what_whole_numbers_keep(packed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every record the intervals of the quick check hold those of the exact one, and it closes no node that this leaves open."""
    X, y, content = packed
    compared = []

    def both(problem: BallProblem, records: Records) -> int:
        quick, exact = QuickRounds(problem, records.units), WholeRounds(problem, records.units)
        pending = [(quick.root(), exact.root())]
        for op, record in zip(records.ops, records.multipliers, strict=True):
            first, second = pending.pop()
            after = quick.round(first, record), exact.round(second, record)
            if after[1] is not None:
                assert after[0] is not None
                low, high, _ = after[1].intervals
                for i in range(records.points):
                    assert Fraction(float(after[0].low[i])) * exact.grid <= low[i]
                    assert Fraction(float(after[0].high[i])) * exact.grid >= high[i]
                compared.append(op)
            assert op != -1 or after[0] is None
            if op == -2:
                pending.append(after)
            elif op >= 0:
                pending.extend(zip(quick.children(after[0], op), exact.children(after[1], op), strict=True))
        return len(records.ops)

    monkeypatch.setattr(ramp, "_check_tree", both)
    assert mipclass.verify(content, X, y).accepted
    assert len(compared) > 5


def test_points_that_a_certificate_leaves_out_are_missed(proof: Any) -> None:
    X, y, _, content = proof
    changed = copy.deepcopy(content)
    changed["lower"]["points"][-1] = changed["lower"]["points"][0]
    assert "missing" in mipclass.verify(changed, X, y).reason


def test_a_proof_without_an_offset_says_nothing_of_a_free_one(proof: Any) -> None:
    X, y, problem, content = proof
    changed = copy.deepcopy(content)
    changed["problem"]["intercept"] = not content["problem"]["intercept"]
    assert not mipclass.verify(changed, X, y).accepted
    changed["lower"]["centre"] = [(0.0).hex()] * 3
    assert not mipclass.verify(changed, X, y).accepted
    assert not mipclass.verify(changed, X, y, problem=problem).accepted


@pytest.mark.parametrize("proof", [True], indirect=True)
@pytest.mark.parametrize("centre", [None, [], ["1/3"] * 3, [(100.0).hex()] * 3])
def test_a_centre_that_does_not_serve_is_rejected(proof: Any, centre: Any) -> None:
    X, y, _, content = proof
    changed = copy.deepcopy(content)
    changed["lower"]["centre"] = centre
    assert not mipclass.verify(changed, X, y).accepted


def test_the_verdict_tells_the_problem(proof: Any) -> None:
    X, y, _, content = proof
    words = str(mipclass.verify(content, X, y))
    assert "ramp" in words
    assert ("offset      free" if content["problem"]["intercept"] else "none, b = 0") in words
