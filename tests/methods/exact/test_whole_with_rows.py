"""Whole weights with equal rates of groups and rows between weights: equal to enumeration of the lattice, and certified."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mipclass
from mipclass import models
from tests.truth.lattice import errors, least_on_lattice
from tests.truth.zero_one import tiny_instance

from .test_whole import proven

ROWS = {
    "order": [((1.0, -1.0, 0.0), 0.0)],
    "equal": [((1.0, -1.0, 0.0), 0.0), ((-1.0, 1.0, 0.0), 0.0)],
    "decimals": [((0.1, -0.3, 0.2), 0.0)],
    "sum": [((1.0, 1.0, 1.0), 1.0)],
    "too much": [((1.0, 1.0, 1.0), 100.0)],
}
"""Rows (a, c) that say a.w >= c."""


def rate_gap(wrong, positive, weights, groups, rate):
    """(largest difference of the groups' rates, which points the rate counts)."""
    counted = {"error": positive | ~positive, "positive": positive | ~positive, "false_positive": ~positive}[rate]
    counts = np.where(positive, ~wrong, wrong) if rate == "positive" else wrong
    rates = [
        weights[counted & counts & (groups == g)].sum() / weights[counted & (groups == g)].sum()
        for g in np.unique(groups)
    ]
    return max(rates) - min(rates), counted


@given(
    seed=st.integers(0, 10**6),
    largest=st.integers(1, 2),
    offset=st.sampled_from([(True, False), (True, True), (False, False)]),
    margin=st.sampled_from([0, 0, 1]),
    rows=st.sampled_from([None, "order", "equal", "decimals", "sum", "too much"]),
    parity=st.sampled_from([None, (0.0, "error"), (0.2, "positive"), (0.4, "false_positive")]),
)
@settings(max_examples=25, deadline=None)
def test_parity_and_rows_equal_enumeration_and_are_certified(seed, largest, offset, margin, rows, parity):
    X, y, weights = tiny_instance(seed, "lattice", (3, 3), (5, 8))
    groups = np.arange(len(y)) % 2
    margin = 1 if rows in ("sum", "too much") else 0 if parity is not None else margin
    if margin or (parity is not None and not all(((groups == g) & (y < 0) & (weights > 0)).any() for g in (0, 1))):
        parity = None
    problem = models.Model(
        X,
        y,
        rule=models.Linear(intercept=offset[0]),
        minimize=models.ZeroOne(margin=margin),
        subject_to=[
            models.IntegerCoefficients(largest, intercept=offset[1]),
            *([] if parity is None else [models.RateParity(groups, parity[0], rate=parity[1])]),
        ],
        sample_weight=weights,
    )
    stated = [] if rows is None else ROWS[rows]
    for a, end in stated:
        problem.subject_to(np.array(a) @ problem.w >= end)

    def weights_keep(w):
        return all(sum((Fraction(c) * v for c, v in zip(a, w, strict=True)), Fraction(0)) >= end for a, end in stated)

    def errors_keep(gains):
        """Points that a rate of groups counts may not be tied."""
        if parity is None:
            return True
        gap, counted = rate_gap(np.array(errors(gains, margin)), y > 0, weights, groups, parity[1])
        return gap <= parity[0] + 1e-9 and not any(
            gain == 0 and counts for gain, counts in zip(gains, counted, strict=True)
        )

    truth = least_on_lattice(
        X, y, weights, range(-largest, largest + 1),
        offset=offset, margin=margin, weights_keep=weights_keep, errors_keep=errors_keep,
    )  # fmt: skip
    result = proven(problem, truth)
    if result is None:
        return
    assert result.objective == result.bound == truth
    assert not problem.violations(result.values)


def ordered_cards():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (60, 4)).astype(float)
    y = np.where(2 * X[:, 0] - X[:, 1] + rng.normal(size=60) > 2, 1, -1)
    problem = models.zero_one(X, y, subject_to=[models.IntegerCoefficients(3)])
    return X, y, problem.subject_to(problem.w[1] >= 2 * problem.w[0], problem.w[2] == problem.w[3])


def test_auto_proves_rows_between_whole_weights():
    X, y, problem = ordered_cards()
    result = mipclass.solve(problem)
    assert result.solver == "exact"
    assert result.certified
    assert result.claim == "proven"
    w = result.values["w"]
    assert w[1] >= 2 * w[0]
    assert w[2] == w[3]
    free = mipclass.solve(models.zero_one(X, y, subject_to=[models.IntegerCoefficients(3)]))
    assert free.objective < result.objective


@pytest.mark.parametrize("units", [[], ["1", "1", "0"], ["1", "1", "-1"], ["1", "1", "1/3", "1"], "1"])
def test_units_of_rows_are_checked(units):
    X, y, problem = ordered_cards()
    content = copy.deepcopy(dict(mipclass.solve(problem, "exact").certificate.content))
    assert mipclass.verify(content, X, y)
    content["lower"]["row_units"] = units
    assert not mipclass.verify(content, X, y)


def test_a_proof_with_rows_does_not_hold_without_them():
    X, y, problem = ordered_cards()
    content = copy.deepcopy(dict(mipclass.solve(problem, "exact").certificate.content))
    content["problem"]["rows"] = []
    content["lower"]["row_units"] = []
    assert not mipclass.verify(content, X, y)
