"""Whole weights: equal to enumeration of the lattice, certified, and tampered certificates rejected."""

from __future__ import annotations

import base64
import copy
import zlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import mipclass
from mipclass import models
from tests.truth.lattice import errors, least_on_lattice
from tests.truth.zero_one import KINDS, tiny_instance


def proven(problem, truth):
    """The certified answer of `exact`, which is infeasible exactly where enumeration finds nothing; None in that case."""
    result = mipclass.solve(problem, solver="exact")
    assert result.certified
    assert result.status == ("infeasible" if truth is None else "optimal")
    return None if truth is None else result


@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(KINDS),
    largest=st.integers(1, 3),
    most=st.integers(0, 3),
    cost=st.sampled_from([0.0, 0.0, 0.5]),
    margin=st.sampled_from([0, 0, 1]),
    offset=st.sampled_from([(True, False), (True, True), (False, False)]),
    rate=st.sampled_from([None, 0.0, 0.4]),
    signed=st.booleans(),
)
@example(
    seed=180828, kind="gaussian", largest=1, most=2, cost=0.0, margin=0, offset=(True, True), rate=0.0, signed=False
)  # a rule that is right by rounding alone
@settings(max_examples=60, deadline=None)
def test_whole_weights_equal_enumeration_and_are_certified(
    seed, kind, largest, most, cost, margin, offset, rate, signed
):
    X, y, weights = tiny_instance(seed, kind, (1, 3), (4, 8))
    X = np.round(X, 1)
    positive = y > 0
    loss = models.ZeroOne(margin=margin)
    problem = models.Model(
        X,
        y,
        rule=models.Linear(intercept=offset[0]),
        minimize=loss + cost * models.L0() if cost else loss,
        subject_to=[
            models.IntegerCoefficients(largest, intercept=offset[1]),
            models.MaxFeatures(most),
            *([] if rate is None else [models.FalsePositiveRate(rate)]),
            *([models.Monotone({0: 1})] if signed else []),
        ],
        sample_weight=weights,
    )

    def errors_keep(gains):
        wrong = np.array(errors(gains, margin))
        return rate is None or weights[wrong & ~positive].sum() <= rate * weights[~positive].sum() + 1e-9

    truth = least_on_lattice(
        X,
        y,
        weights,
        range(-largest, largest + 1),
        offset=offset,
        margin=margin,
        weights_keep=lambda w: np.count_nonzero(w) <= most and not (signed and w[0] < 0),
        errors_keep=errors_keep,
        cost=cost,
    )
    result = proven(problem, truth)
    if result is None:
        return
    assert result.recounted
    in_scope = result.certificate.content["lower"]["relative_margin"] != "0"
    # Among decimals, rules that are right by rounding alone may do better than those of the scope.
    assert result.objective == truth or (in_scope and result.objective > truth)
    assert (result.values["w"] == np.round(result.values["w"])).all()


def test_decimals_are_taken_for_what_they_say():
    """0.1 + 0.2 and 0.3 tie in decimals, so that no rule of w = (1, 1) is right about both by more than rounding."""
    X = np.array([[0.1, 0.2], [0.3, 0.0]])
    problem = models.zero_one(X, [1, 0], subject_to=[models.IntegerCoefficients(1, 1)])
    result = mipclass.solve(problem, "exact")
    assert result.objective == result.bound == 1
    assert result.certified
    assert "moves by" in result.extra["scope"]


def test_a_margin_of_one_is_proven_for_the_values_as_stored_and_the_scope_says_what_a_recount_forgives():
    """The only rule w = 3, 2, 3 has a margin of 1 at its last point in decimals, and 1 - 2e-16 as 0.9 and 1.6 are stored."""
    X, w, b = np.array([[1.0, -0.9, 1.6]]), [3, 2, 3], -7
    margin = -(sum(Fraction(x) * k for x, k in zip(X[0], w, strict=True)) + b)
    assert 1 - Fraction(1, 10**6) < margin < 1
    X = np.vstack([X, [[9.0, 9.0, 9.0]]])
    rows = [models.Bounds(w={j: (k, k) for j, k in enumerate(w)}), models.IntegerCoefficients(3, intercept=True)]
    problem = models.Model(X, [0, 1], minimize=models.ZeroOne(margin=1), subject_to=rows)
    assert problem.recount({"w": np.array(w, dtype=float), "b": np.array(float(b))}) == 0
    result = mipclass.solve(problem, "exact")
    assert result.certified
    assert "1 - 1e-06" in result.extra["scope"]
    plain = models.zero_one(X, [0, 1], subject_to=[models.IntegerCoefficients(3)])
    assert "1 - 1e-06" not in mipclass.solve(plain, "exact").extra["scope"]


def test_parity_with_a_whole_offset_leaves_out_rules_that_tie_points_and_says_so():
    """w = 0, b = 0 ties all four points, so that all are errors and both groups have the rate 1; no other rule has equal rates."""
    problem = models.Model(
        [[0.0]] * 4,
        [0, 1, 0, 1],
        minimize=models.ZeroOne(),
        subject_to=[models.RateParity([0, 0, 0, 1], 0.1), models.IntegerCoefficients(2, intercept=True)],
    )
    assert problem.violations({"w": np.zeros(1), "b": np.array(0.0)}) == {}
    result = mipclass.solve(problem, "exact")
    assert result.status == "infeasible"
    assert result.certified
    assert "no point on the boundary" in result.extra["scope"]
    verdict = mipclass.verify(result.certificate, problem.X, [0, 1, 0, 1])
    assert "no point on the boundary" in verdict.problem.scope


def test_bounds_that_no_weights_keep_are_infeasible():
    X, y, _ = tiny_instance(0, "lattice", (2, 2))
    problem = models.zero_one(X, y, subject_to=[models.IntegerCoefficients(1, 3), models.Monotone({0: -1})])
    result = mipclass.solve(problem, "exact")
    assert result.status == "infeasible"
    assert result.certified


def cards(n=80, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, d)).astype(float)
    return X, np.where(2 * X[:, 0] - X[:, 1] + rng.normal(size=n) > 2, 1, -1)


@pytest.fixture(scope="module")
def certified():
    X, y = cards()
    problem = models.zero_one(X, y, subject_to=[models.IntegerCoefficients(3), models.MaxFeatures(3)])
    result = mipclass.solve(problem)
    assert result.solver == "exact"
    assert result.certified
    return result, X, y, problem


def test_the_certificate_tells_what_it_is_about(certified):
    result, X, y, problem = certified
    verdict = mipclass.verify(result.certificate, X, y, problem=problem)
    assert verdict.optimal
    assert result.certificate.kind == "lattice"
    assert "whole numbers from -3 to 3" in str(verdict)
    wider = models.zero_one(X, y, subject_to=[models.IntegerCoefficients(4), models.MaxFeatures(3)])
    assert "whole numbers" in mipclass.verify(result.certificate, X, y, problem=wider).reason


def change(content, name, value):
    content["lower"][name] = value


def tree_of(content):
    return bytearray(zlib.decompress(base64.b64decode(content["lower"]["tree"])))


def with_tree(content, ops):
    content["lower"]["tree"] = base64.b64encode(zlib.compress(bytes(ops))).decode()


def cut_the_tree(content):
    with_tree(content, tree_of(content)[:-1])


def close_the_root(content):
    with_tree(content, b"\0")


def split_what_is_not_there(content):
    ops = tree_of(content)
    ops[0] = 1 + 2 * 60
    with_tree(content, ops)


def call_a_box_a_rule(content):
    ops = tree_of(content)
    ops[ops.index(0)] = 255
    with_tree(content, ops)


def raise_the_target(content):
    content["lower"]["target"] += 1
    content["lower"]["bound"] = str(int(content["lower"]["bound"]) + 1)


def narrow_the_range(content):
    content["problem"]["whole"]["upper"] = 0


def scale_coarsely(content):
    change(content, "scale", "1/3")


def weigh_more(content):
    content["lower"]["weights"][0] += 1


def break_a_weight(content):
    content["upper"]["w"][0] = (0.5).hex()


@pytest.mark.parametrize(
    "tamper",
    [
        cut_the_tree,
        close_the_root,
        split_what_is_not_there,
        call_a_box_a_rule,
        raise_the_target,
        narrow_the_range,
        scale_coarsely,
        weigh_more,
        break_a_weight,
    ],
)
def test_tampered_certificates_are_rejected(certified, tamper):
    result, X, y, _ = certified
    content = copy.deepcopy(dict(result.certificate.content))
    tamper(content)
    assert not mipclass.verify(content, X, y)


def test_a_stopped_search_has_a_rule_and_a_certified_bound():
    X, y = cards(200, 8, 1)
    problem = models.zero_one(X, y, subject_to=[models.IntegerCoefficients(9)])
    result = mipclass.solve(problem, "exact", options={"node_limit": 2_000})
    assert result.status == "node_limit"
    assert result.certified
    assert result.bound <= result.objective


def test_what_it_does_not_take_is_told():
    X, y = cards()
    problem = models.zero_one(X, y, subject_to=[models.IntegerCoefficients(3)])
    problem.subject_to(problem.w["x0"] >= problem.b)
    with pytest.raises(mipclass.MipclassError, match="highs"):
        mipclass.solve(problem, "exact")
    with pytest.raises(mipclass.MipclassError, match="exact"):
        mipclass.solve(models.zero_one(X, y, subject_to=[models.IntegerCoefficients(3)]), "iis")
