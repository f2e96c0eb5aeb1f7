"""The outlier path on points that are hard on purpose: every stored solution satisfies the conditions, recomputed from the data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from outlier_truth import HARD_KINDS, RULES, gram_of, hard_points, worst_condition

from mipclass import models, solve
from mipclass.methods.local_optimality import local_optimality


def check_path(kind, n, d, seed, C, parameter, rule):
    X, y = hard_points(kind, n, d, seed)
    model = models.robust_svm(X, y, C, **RULES[rule])
    result = solve(model, "outlier-path", options={"path": parameter})
    path, K = result.extra["path"], gram_of(model, X)
    assert (result.status, result.claim, result.recounted) == ("optimal", "local", True)
    for k in range(len(path)):
        worst = worst_condition(K, path.y, path.alpha(k), path.C, path.theta[k], path.s[k], path.outliers(k))
        assert worst <= 1e-8, (k, path.event[k])


@pytest.mark.parametrize(
    ("kind", "n", "d", "seed", "C", "parameter", "rule"),
    [
        (
            "noisy",
            183,
            1,
            90419020,
            10.4614,
            "theta",
            "rbf",
        ),  # nearly dependent points leave the start's rule only nearly
        ("noisy", 135, 1, 22668031, 23.0969, "s", "rbf"),
        ("repeated", 159, 1, 58671153, 22.5625, "s", "rbf"),
        (
            "constant column",
            54,
            1,
            80271998,
            0.0759,
            "theta",
            "linear",
        ),  # the levels pass a point while the rule stands still
        (
            "constant column",
            78,
            11,
            23759066,
            0.0356,
            "s",
            "callable",
        ),  # a wrong guess moves dependent points far, and back
        ("repeated", 52, 2, 70404005, 0.0341, "s", "callable"),
        ("heavy tails", 94, 1, 92863391, 0.0822, "s", "poly"),
        ("heavy tails", 171, 1, 62531361, 34.4266, "s", "poly"),
    ],
)
def test_paths_that_were_once_inexact(kind, n, d, seed, C, parameter, rule):
    check_path(kind, n, d, seed, C, parameter, rule)


CASES = {
    "kind": st.sampled_from(HARD_KINDS),
    "n": st.integers(5, 120),
    "d": st.integers(1, 10),
    "seed": st.integers(0, 10**8),
    "C": st.floats(-2.0, 2.0).map(lambda power: 10.0**power),
    "parameter": st.sampled_from(["theta", "s"]),
    "rule": st.sampled_from(sorted(RULES)),
}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(**CASES)
def test_every_breakpoint_of_hard_points_is_optimal(kind, n, d, seed, C, parameter, rule):
    check_path(kind, n, d, seed, C, parameter, rule)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(**CASES)
def test_every_breakpoint_of_hard_points_is_optimal_on_many(kind, n, d, seed, C, parameter, rule):
    check_path(kind, n, d, seed, C, parameter, rule)


def test_a_point_near_both_levels_is_read_in_its_favour():
    """Against a large scale 1 and s are near each other; a point on the edge is no tie that lacks alpha = C."""
    check = local_optimality([0.5], [1.0], 1.0, 0.0, 0.0, scale=1e9)
    assert check.violation == 0.0
    assert local_optimality(np.array([0.5]), np.array([0.0]), 1.0, 0.0, 0.0).violation == pytest.approx(0.5)
