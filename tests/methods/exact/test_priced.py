"""Limits on errors by prices: equal to enumeration, certified, and tampered prices rejected."""

from __future__ import annotations

import base64
import copy
import zlib
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mipclass
from mipclass import models
from mipclass.methods.exact.form import ProofForm, match_proof
from mipclass.methods.exact.priced_form import priced_form
from mipclass.methods.exact.prices import RulePool
from mipclass.methods.exact.sums import Sums
from tests.truth.zero_one import KINDS, least_loss, tiny_instance

FAST = {"local_steps": 200}
LIMITS = ("false positives", "false negatives", "precision", "errors")


def limit(kind: str, rate: float) -> models.Constraint:
    return {
        "false positives": lambda: models.FalsePositiveRate(rate),
        "false negatives": lambda: models.FalseNegativeRate(rate),
        "precision": lambda: models.Precision(1 - rate),
        "errors": lambda: models.Errors(int(10 * rate)),
    }[kind]()


def keeps(kind: str, rate: float, wrong: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> bool:
    """Whether these errors keep the limit, in fractions of whole weights."""
    share = Fraction(str(rate))
    FP, FN = int(weights[wrong & ~positive].sum()), int(weights[wrong & positive].sum())
    P, N = int(weights[positive].sum()), int(weights[~positive].sum())
    if kind == "precision":
        return Fraction(str(1 - rate)) * (P - FN + FP) <= P - FN
    if kind == "errors":
        return int(10 * rate) >= FP + FN
    return share * N >= FP if kind == "false positives" else share * P >= FN


LIMITED = {
    "seed": st.integers(0, 10**6),
    "points": st.sampled_from(KINDS),
    "kinds": st.lists(st.sampled_from(LIMITS), min_size=1, max_size=2, unique=True),
    "rate": st.sampled_from([0.0, 0.1, 0.25, 0.5]),
    "on": st.sampled_from(["all", "positives", "negatives"]),
}


@given(**LIMITED)
@settings(max_examples=20, deadline=None)
def test_limits_equal_enumeration_and_are_certified(seed, points, kinds, rate, on):
    check_limits(seed, points, kinds, rate, on)


@pytest.mark.slow
@given(**LIMITED)
@settings(max_examples=60, deadline=None)
def test_limits_equal_enumeration_on_many(seed, points, kinds, rate, on):
    check_limits(seed, points, kinds, rate, on)


def check_limits(seed, points, kinds, rate, on):
    X, y, weights = tiny_instance(seed, points)
    positive = y > 0
    if positive.all() or not positive.any():
        return
    problem = models.Model(
        X, y, minimize=models.ZeroOne(on=on), subject_to=[limit(k, rate) for k in kinds], sample_weight=weights
    )
    counted = {"all": positive | ~positive, "positives": positive, "negatives": ~positive}[on]
    truth = least_loss(
        X,
        y,
        np.where(counted, weights, 0.0),
        allowed=lambda wrong: all(keeps(k, rate, wrong, positive, weights) for k in kinds),
    )
    result = mipclass.solve(problem, solver="exact", options=FAST)
    assert result.certified
    assert result.claim == "proven"
    if truth is None:
        assert result.status == "infeasible"
        return
    assert result.objective == result.bound == truth
    assert result.recounted


PARITY = {
    "seed": st.integers(0, 10**6),
    "points": st.sampled_from(KINDS),
    "rate": st.sampled_from(["error", "positive", "false_positive", "false_negative"]),
    "at_most": st.sampled_from([0.0, 0.2, 0.5]),
    "solver": st.sampled_from(["exact", "iis"]),
}


@given(**PARITY)
@settings(max_examples=12, deadline=None)
def test_parity_equals_enumeration_and_is_certified(seed, points, rate, at_most, solver):
    check_parity(seed, points, rate, at_most, solver)


@pytest.mark.slow
@given(**PARITY)
@settings(max_examples=30, deadline=None)
def test_parity_equals_enumeration_on_many(seed, points, rate, at_most, solver):
    check_parity(seed, points, rate, at_most, solver)


def check_parity(seed, points, rate, at_most, solver):
    """Errors help to keep parity; a rule that ties such a point does not count."""
    X, y, weights = tiny_instance(seed, points)
    groups = np.random.default_rng(seed).integers(0, 2, len(y))
    counted = {"false_positive": y < 0, "false_negative": y > 0}.get(rate, np.ones(len(y), bool))
    sizes = [int(weights[counted & (groups == g)].sum()) for g in (0, 1)]
    if not all(sizes) or len(np.unique(y)) < 2:
        return

    def is_fair(wrong: np.ndarray) -> bool:
        happened = np.where(y > 0, ~wrong, wrong) if rate == "positive" else wrong
        rates = [Fraction(int(weights[happened & counted & (groups == g)].sum()), sizes[g]) for g in (0, 1)]
        return abs(rates[0] - rates[1]) <= Fraction(str(at_most))

    parity = models.RateParity(groups, at_most=at_most, rate=rate)
    problem = models.Model(X, y, minimize=models.ZeroOne(), subject_to=parity, sample_weight=weights)
    result = mipclass.solve(problem, solver=solver, options=FAST)
    truth = least_loss(X, y, weights, allowed=is_fair, exactly=True)
    assert result.certified
    assert result.claim == "proven"
    if truth is None:
        assert result.status == "infeasible"
    else:
        assert result.objective == result.bound == truth
        assert not problem.violations(result.values)


def test_a_rule_that_ties_a_welcome_error_is_rejected():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1, 1, -1, 1])
    problem = models.Model(X, y, minimize=models.ZeroOne(), subject_to=models.RateParity([0, 1, 0, 1], at_most=0.5))
    result = mipclass.solve(problem, solver="exact")
    assert result.certified
    bad = copy.deepcopy(dict(result.certificate.content))
    bad["upper"] = {"w": [(1.0).hex()], "b": (-2.0).hex(), "loss": "2"}
    verdict = mipclass.verify(bad, X, y)
    assert "ties point 2" in verdict.reason


def solved(seed: int, kind: str) -> tuple[models.Model, mipclass.Result]:
    """Neyman-Pearson on 60 noisy points whose proof is of the given kind."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 2))
    y = np.where(X[:, 0] + rng.normal(0, 1.0, 60) > 0, 1, -1)
    problem = models.neyman_pearson(X, y, 0.1)
    result = mipclass.solve(problem, solver="exact")
    assert result.certificate.kind == kind
    return problem, result


@pytest.fixture(scope="module")
def priced() -> tuple[models.Model, mipclass.Result]:
    return solved(2, "priced")


@pytest.fixture(scope="module")
def limited() -> tuple[models.Model, mipclass.Result]:
    """Here no price closes the gap."""
    return solved(3, "limited")


def test_boxes_close_a_gap_that_prices_leave(limited):
    problem, result = limited
    other = mipclass.solve(problem, solver="iis")
    assert result.claim == other.claim == "proven"
    assert result.certified
    assert result.objective == result.bound == other.objective
    assert result.extra["parts"] == len(result.certificate.content["lower"]["parts"]) > 1


def test_one_weighted_proof_closes_neyman_pearson(priced):
    problem, result = priced
    other = mipclass.solve(problem, solver="iis")
    assert result.claim == other.claim == "proven"
    assert result.certified
    assert result.objective == result.bound == other.objective
    assert result.extra["prices"] == [pytest.approx(float(Fraction(result.certificate.content["lower"]["prices"][0])))]
    bounds = [bound for _, _, bound in result.trace if bound is not None]
    assert bounds == sorted(bounds)
    assert bounds[-1] == result.bound  # the trace speaks of the limited problem, not of the priced one


CHANGES = {
    "a lower price": lambda lower: lower.update(prices=["0"]),
    "a higher price": lambda lower: lower.update(prices=[str(10 * Fraction(lower["prices"][0]))]),
    "a negative price": lambda lower: lower.update(prices=[str(-Fraction(lower["prices"][0]))]),
    "no price": lambda lower: lower.update(prices=[]),
    "a higher bound": lambda lower: lower.update(bound=str(Fraction(lower["bound"]) + 1)),
    "heavier points": lambda lower: lower["proof"].update(unit=str(2 * Fraction(lower["proof"]["unit"]))),
    "no proof": lambda lower: lower.pop("proof"),
    "prices inside prices": lambda lower: lower["proof"].update(kind="priced"),
}


def is_rejected(problem: models.Model, result: mipclass.Result, change: Callable[[dict], object]) -> bool:
    bad = copy.deepcopy(dict(result.certificate.content))
    bad["upper"] = None
    change(bad["lower"])
    verdict = mipclass.verify(bad, problem.X, problem.y_pm1)
    return not verdict.accepted and bool(verdict.reason)


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_certificate_is_rejected(priced, what):
    assert is_rejected(*priced, CHANGES[what])


def handed_elsewhere(lower: dict) -> None:
    """All boxes that the first part hands over go to the last part."""
    first = lower["parts"][0]
    handed = np.frombuffer(zlib.decompress(base64.b64decode(first["handed_to"])), dtype="<i4").copy()
    handed[:] = len(lower["parts"]) - 1
    first["handed_to"] = base64.b64encode(zlib.compress(handed.tobytes())).decode()


CHANGES_OF_PARTS = {
    "a part is missing": lambda lower: lower["parts"].pop(),
    "no part": lambda lower: lower.update(parts=[]),
    "a box that is handed to no one": lambda lower: lower["parts"][0].update(handed_to=lower["parts"][-1]["handed_to"]),
    "boxes that are handed elsewhere": handed_elsewhere,
    "a lower target of a limit": lambda lower: [
        p.update(target=0) for p in lower["parts"] if p["loss"] == len(lower["losses"]) - 1
    ],
    "a higher target": lambda lower: lower["parts"][0].update(target=lower["parts"][0]["target"] + 1),
    "a higher bound": lambda lower: lower.update(bound=str(Fraction(lower["bound"]) + 1)),
    "another loss": lambda lower: lower["parts"][0].update(loss=1),
    "no such loss": lambda lower: lower["parts"][0].update(loss=7),
    "a loss that counts no objective": lambda lower: lower["losses"][0].update(objective=0),
    "heavier points": lambda lower: lower["losses"][-1].update(unit="2"),
    "a map that loses rules": lambda lower: lower.update(map=[(0.0).hex()] * len(lower["map"])),
}


@pytest.mark.parametrize("what", CHANGES_OF_PARTS)
def test_a_changed_proof_in_parts_is_rejected(limited, what):
    assert is_rejected(*limited, CHANGES_OF_PARTS[what])


def form_of(problem: models.Model) -> ProofForm:
    form = match_proof(problem, plain=False)
    assert isinstance(form, ProofForm)
    return form


@given(seed=st.integers(0, 10**6), numerator=st.integers(0, 40), denominator=st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_a_priced_loss_is_cost_plus_price_times_excess(seed, numerator, denominator):
    """F / factor - shift = c(e) + p (l(e) - L) for the errors of any rule without ties, whatever the price."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, 2))
    y = np.where(rng.random(12) < 0.5, 1, -1)
    y[:2] = (1, -1)
    form = form_of(models.neyman_pearson(X, y, 0.3))
    price = Fraction(numerator, denominator)
    plain = priced_form(form, (price,))
    w, b = rng.standard_normal(2), float(rng.standard_normal())
    wrong = y * (X @ w + b) <= 0
    [(coefficients, at_most)] = form.statement.limits
    cost, excess = int((wrong & (y > 0)).sum()), Fraction(float(coefficients[wrong].sum())) - Fraction(at_most)
    assert plain.bound(plain.exact_loss(w, b)) == cost + price * excess


def test_prices_are_simple_and_best_over_the_rules_seen():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = np.where(X[:, 0] + rng.normal(0, 1.0, 40) > 0, 1, -1)
    pool = RulePool(form_of(models.neyman_pearson(X, y, 0.1)).cover())
    for _ in range(200):
        pool.take(rng.standard_normal(3))
    (price,) = pool.prices()
    grid = [pool.estimate((Fraction(k, 100),)) for k in range(1000)]
    assert pool.rounded_up(pool.estimate((price,))) >= pool.rounded_up(max(grid))
    assert pool.estimate((price,)) <= pool.best


@given(values=st.lists(st.integers(1, 9), min_size=1, max_size=6), value=st.integers(1, 60))
def test_greatest_sum_below(values, value):
    sums = {0}
    for v in values:
        sums |= {s + v for s in sums}
    assert Sums(values).greatest_below(value) == max(s for s in sums if s < value)
