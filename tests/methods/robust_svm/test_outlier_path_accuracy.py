"""The outlier path on points that are hard on purpose: every stored solution satisfies the conditions, recomputed from the data."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mipclass import OutlierPathSVC, models, solve
from mipclass.errors import MipclassWarning
from mipclass.methods.robust_svm.local_optimality import MOST_TIES, local_optimality
from tests.truth.outlier_path import HARD_KINDS, RULES, gram_of, hard_points, worst_condition


def check_path(kind, n, d, seed, C, parameter, rule):
    X, y = hard_points(kind, n, d, seed)
    model = models.robust_svm(X, y, C, **RULES[rule])
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", MipclassWarning
        )  # cubes of heavy tails drown the levels; the conditions hold all the same
        result = solve(model, "outlier-path", options={"path": parameter})
    path, K = result.extra["path"], gram_of(model, X)
    assert (result.status, result.recounted) == ("optimal", True)
    margins = path.y * (K @ (path.y * path.alpha(-1)))
    ties = (np.abs(margins - path.s[-1]) <= 1e-8) & (np.diagonal(K) > 1e-9 * np.abs(K).max())
    if np.abs(K).max() * C < 1e6 and ties.sum() <= MOST_TIES:  # more ties are not decided
        assert result.claim == "local"
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


@pytest.mark.parametrize("power", [7, 12])
def test_margins_that_rounding_drowns_leave_no_claim(power):
    """Relative to terms of 1e14 and more every margin is right; the levels 1 and s are lost among them all the same."""
    X, y = hard_points("noisy", 60, 3, 0)
    X = X * 10.0**power
    with pytest.warns(MipclassWarning, match="Scale the features"):
        result = solve(models.robust_svm(X, y, 1.0), "outlier-path")
    assert result.claim == "heuristic"
    with pytest.warns(MipclassWarning, match="Scale the features"):
        OutlierPathSVC().fit(X, y)


@pytest.mark.parametrize(
    ("kind", "n", "d", "seed", "C", "parameter", "rule"),
    [
        ("binary", 85, 6, 142, 4.7436, "s", "linear"),
        ("one-hot", 48, 7, 138, 31.8195, "theta", "offset"),
        ("binary", 89, 7, 1114, 3.1677, "theta", "callable"),
    ],
)
def test_no_side_of_the_cut_off_is_better_in_the_end(kind, n, d, seed, C, parameter, rule, monkeypatch):
    """Points that stand at the cut-off of a lattice in the end; without a last look at their other side the claim is not made."""
    from mipclass.methods.robust_svm import outlier_path

    X, y = hard_points(kind, n, d, seed)
    model = models.robust_svm(X, y, C, **RULES[rule])
    result = solve(model, "outlier-path", options={"path": parameter})
    assert result.claim == "local"
    path = result.extra["path"]
    assert path.event[-1] == "jump"
    assert path.objective[-1] == pytest.approx(result.objective, rel=1e-9)
    sets = path.sets(-1)
    np.testing.assert_array_equal(sets["O"], np.flatnonzero(path.outliers(-1)))
    monkeypatch.setattr(outlier_path, "leave_cut_off", lambda state, change_sides: -1)
    without = solve(model, "outlier-path", options={"path": parameter})
    assert without.claim == "heuristic"
    assert without.objective > result.objective * (1 + 1e-6)
