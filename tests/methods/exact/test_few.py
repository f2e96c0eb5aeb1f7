"""Few features: equal to enumeration over all sets of features, certified, and tampered certificates rejected."""

from __future__ import annotations

import copy
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mipclass
from mipclass import models
from mipclass.methods.exact.few.supports import SupportSets, features_of, mask_of
from tests.breadth import mostly_slow
from tests.truth.zero_one import KINDS, least_loss, tiny_instance

FAST = {"local_steps": 200}


def least_with_few(X, y, weights, most, cost=0.0, sides=(), allowed=lambda wrong: True):
    """The least loss over all sets of at most `most` features, each of which costs `cost`; None when no rule is allowed."""
    found = []
    for size in range(min(most, X.shape[1]) + 1):
        for chosen in combinations(range(X.shape[1]), size):
            rows = [(np.eye(size + 1)[chosen.index(j)] * sign, 0.0) for j, sign in sides if j in chosen]
            loss = least_loss(X[:, chosen], y, weights, sides=rows, allowed=allowed)
            found += [] if loss is None else [loss + cost * size]
    return min(found, default=None)


FEW = {
    "seed": st.integers(0, 10**6),
    "kind": st.sampled_from(KINDS),
    "most": st.integers(0, 3),
    "cost": st.sampled_from([0.0, 0.25, 1.0]),
    "standardised": st.booleans(),
}


@given(**FEW)
@settings(max_examples=12, deadline=None)
def test_few_features_equal_enumeration_and_are_certified(seed, kind, most, cost, standardised):
    check_few_features(seed, kind, most, cost, standardised)


@pytest.mark.slow
@given(**FEW)
@settings(max_examples=40, deadline=None)
def test_few_features_equal_enumeration_on_many(seed, kind, most, cost, standardised):
    check_few_features(seed, kind, most, cost, standardised)


def check_few_features(seed, kind, most, cost, standardised):
    X, y, weights = tiny_instance(seed, kind, (1, 4), (4, 7))
    if standardised:
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    objective = models.ZeroOne() + cost * models.L0() if cost else models.ZeroOne()
    problem = models.Model(X, y, minimize=objective, subject_to=models.MaxFeatures(most), sample_weight=weights)
    result = mipclass.solve(problem, solver="exact", options=FAST)
    assert result.certified
    assert result.recounted
    assert result.objective == result.bound == least_with_few(X, y, weights, most, cost)
    assert np.count_nonzero(result.values["w"]) <= most


LIMITED = {
    "seed": st.integers(0, 10**6),
    "kind": st.sampled_from(KINDS),
    "most": st.integers(0, 2),
    "rate": st.sampled_from([0.0, 0.3]),
}


@given(**LIMITED)
@settings(max_examples=10, deadline=None)
def test_few_features_under_a_limit_and_a_sign_equal_enumeration(seed, kind, most, rate):
    check_few_features_under_a_limit(seed, kind, most, rate)


@pytest.mark.slow
@given(**LIMITED)
@settings(max_examples=25, deadline=None)
def test_few_features_under_a_limit_and_a_sign_on_many(seed, kind, most, rate):
    check_few_features_under_a_limit(seed, kind, most, rate)


def check_few_features_under_a_limit(seed, kind, most, rate):
    X, y, weights = tiny_instance(seed, kind, (1, 3), (4, 6))
    positive = y > 0
    problem = models.Model(
        X,
        y,
        minimize=models.ZeroOne(),
        subject_to=[models.MaxFeatures(most), models.FalsePositiveRate(rate), models.Monotone({0: 1})],
        sample_weight=weights,
    )
    room = rate * weights[~positive].sum() + 1e-9
    truth = least_with_few(
        X, y, weights, most, sides=[(0, 1.0)], allowed=lambda wrong: weights[wrong & ~positive].sum() <= room
    )
    result = mipclass.solve(problem, solver="exact", options=FAST)
    assert result.certified
    assert result.status == ("infeasible" if truth is None else "optimal")
    assert truth is None or result.objective == truth


def test_a_cost_of_features_alone_is_proven():
    X, y, weights = tiny_instance(5, "gaussian", (3, 3), (7, 7))
    problem = models.Model(X, y, minimize=models.ZeroOne() + 0.5 * models.L0(), sample_weight=weights)
    result = mipclass.solve(problem)
    assert result.solver == "exact"
    assert result.certified
    assert result.objective == least_with_few(X, y, weights, 3, 0.5)


def clouds(n=60, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] - X[:, 1] + rng.normal(size=n) > 0, 1, -1)


def test_the_optimum_falls_with_the_number_of_features_and_ends_at_that_of_all():
    X, y = clouds()
    losses = [
        mipclass.solve(models.zero_one(X, y, subject_to=[models.MaxFeatures(k)]), "exact").objective for k in range(6)
    ]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == mipclass.solve(models.zero_one(X, y), "exact").objective


@pytest.fixture(scope="module")
def certified():
    X, y = clouds()
    result = mipclass.solve(models.zero_one(X, y, subject_to=[models.MaxFeatures(2)]), "exact")
    assert result.certified
    return result, X, y


def test_the_certificate_tells_what_it_is_about(certified):
    result, X, y = certified
    verdict = mipclass.verify(result.certificate, X, y)
    assert verdict.optimal
    assert result.certificate.kind == "supports"
    assert verdict.problem is not None
    assert verdict.problem.max_features == 2
    assert "at most 2" in str(verdict)


def drop_a_set(content):
    content["lower"]["proofs"].pop()


def raise_the_bound(content):
    content["lower"]["bound"] = str(int(content["lower"]["bound"]) + 1)


def raise_the_bound_of_a_set(content):
    proof = content["lower"]["proofs"][0]["proof"]
    proof["bound"] = str(int(proof["bound"]) + 1)


def name_other_features(content):
    first, second = content["lower"]["proofs"][:2]
    first["features"], second["features"] = second["features"], first["features"]


def repeat_a_feature(content):
    content["lower"]["proofs"][0]["features"] = [0, 0]


def allow_fewer_features(content):
    content["problem"]["max_features"] = 1


def use_more_features(content):
    content["upper"]["w"] = [float(1).hex()] * 5


@pytest.mark.parametrize(
    "tamper",
    [
        drop_a_set,
        raise_the_bound,
        raise_the_bound_of_a_set,
        name_other_features,
        repeat_a_feature,
        allow_fewer_features,
        use_more_features,
    ],
)
def test_tampered_certificates_are_rejected(certified, tamper):
    result, X, y = certified
    content = copy.deepcopy(dict(result.certificate.content))
    tamper(content)
    assert not mipclass.verify(content, X, y)


def test_a_certificate_without_the_limit_proves_less_than_the_model_asks_for(certified):
    result, X, y = certified
    problem = models.zero_one(X, y, subject_to=[models.MaxFeatures(3)])
    verdict = mipclass.verify(result.certificate, X, y, problem=problem)
    assert not verdict
    assert "number of features" in verdict.reason


def test_a_stopped_search_has_a_rule_and_a_certified_bound():
    X, y = clouds(120, 12, 1)
    problem = models.zero_one(X, y, subject_to=[models.MaxFeatures(4)])
    result = mipclass.solve(problem, "exact", options={"node_limit": 3_000})
    assert result.status == "node_limit"
    assert result.certified
    assert result.bound < result.objective
    assert np.count_nonzero(result.values["w"]) <= 4


@cache
def losses_by_features(seed):
    """(X, y, weights, (size, least loss) of every set of features)."""
    X, y, weights = tiny_instance(seed, KINDS[seed % len(KINDS)])
    d = X.shape[1]
    sets = [features for size in range(d + 1) for features in combinations(range(d), size)]
    return X, y, weights, [(len(features), least_loss(X[:, list(features)], y, weights)) for features in sets]


@pytest.mark.parametrize("price", mostly_slow([1.0, 100.0], fast=[100.0]))
@pytest.mark.parametrize("seed", range(6))
def test_the_fewest_features_under_a_limit_of_errors_equal_enumeration(seed, price):
    """Without a loss the limit alone counts errors; a set of features on which no rule keeps it is closed at any price of a feature."""
    X, y, weights, losses = losses_by_features(seed)
    if len(np.unique(y)) < 2:
        pytest.skip("one class")
    for at_most in (0, 1, 3):
        sizes = [size for size, loss in losses if loss <= at_most]
        problem = models.Model(
            X, y, minimize=price * models.L0(), subject_to=models.Errors(at_most), sample_weight=weights
        )
        result = mipclass.solve(problem)
        assert result.solver == "exact"
        assert result.certified
        assert result.claim == "proven"
        if sizes:
            assert result.objective == result.bound == price * min(sizes)
            assert not problem.violations(result.values)
        else:
            assert result.status == "infeasible"


def test_no_proving_method_points_in_a_circle_for_few_features_with_a_margin():
    X, y, _ = tiny_instance(1, KINDS[0])
    problem = models.Model(X, y, minimize=models.ZeroOne(margin=1), subject_to=models.MaxFeatures(1))
    for solver in ("exact", "iis"):
        with pytest.raises(mipclass.UnsupportedProgramError, match="solver='scip' or 'highs'"):
            mipclass.solve(problem, solver=solver)


def test_other_proving_methods_point_to_exact():
    X, y = clouds()
    for solver in ("iis", "box"):
        with pytest.raises(mipclass.MipclassError, match="exact"):
            mipclass.solve(models.zero_one(X, y, subject_to=[models.MaxFeatures(2)]), solver)


def test_supports_are_closed_by_larger_sets():
    supports = SupportSets(range(5), 2)
    assert sum(1 for _ in supports.open()) == 10
    supports.close(mask_of([0, 1, 2]))
    assert supports.count_open(mask_of([0, 1, 2, 3])) == 3
    left = {features_of(mask) for mask in supports.open()}
    assert left == {pair for pair in combinations(range(5), 2) if not set(pair) <= {0, 1, 2}}
    assert mask_of([3, 4]) & supports.extended(mask_of([3, 4]), 1) == mask_of([3, 4])
