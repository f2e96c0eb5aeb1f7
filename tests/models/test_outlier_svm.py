"""The limit on the weight of outliers: a share of the weight is the same in every unit of weight."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import mipclass
from mipclass import models

X = np.array([[-3.0], [-2.0], [2.0], [3.0], [-1.0], [-0.5]])
Y = np.array([-1, -1, 1, 1, 1, -1])


def widest_on_a_line(weights, shares):
    """1/2 w'w of the widest margin of points on a line by trying every set of outliers, in exact numbers; None when none separates.

    shares : {label: share} of the weight of a class, or one share of all.
    """
    exact, best = [Fraction(w) for w in weights], Fraction(0)
    groups = (
        [(label == Y, share) for label, share in shares.items()] if isinstance(shares, dict) else [(Y != 0, shares)]
    )
    for out in product([False, True], repeat=len(Y)):
        kept = [
            sum((w for w, o, g in zip(exact, out, group, strict=True) if o and g), Fraction(0))
            <= share * sum(w for w, g in zip(exact, group, strict=True) if g)
            for group, share in groups
        ]
        if not all(kept):
            continue
        of = {s: [Fraction(x) for x, y, o in zip(X[:, 0], Y, out, strict=True) if y == s and not o] for s in (-1, 1)}
        best = max(best, min(of[1]) - max(of[-1]), min(of[-1]) - max(of[1]))
    return None if best == 0 else float(2 / best**2)


CASES = {
    "no solution": ([1, 1, 1, 1, 1, 1], {-1: Fraction(0), 1: Fraction(3, 10)}),
    "of each class": ([3, 2, 2, 1, 1, 2], {-1: Fraction(1, 3), 1: Fraction(1, 4)}),
    "of all": ([3, 2, 2, 1, 1, 2], Fraction(3, 10)),
    "of all, equal": ([1, 1, 1, 1, 1, 1], Fraction(34, 100)),
    "irregular": ([0.7, 0.31, 0.53, 0.29, 0.11, 0.19], Fraction(15, 100)),
}


@pytest.mark.parametrize("unit", [1.0, 1e-8, 1e-9, 4e-10, 1e-30, 0.1, 1e8, 1e30])
@pytest.mark.parametrize(
    ("case", "solver"),
    [
        *((case, solver) for case in CASES for solver in ("enumerate", "highs")),
        *((case, "subsystems") for case, (weights, _) in CASES.items() if len(set(weights)) == 1),
    ],
)
def test_a_share_does_not_depend_on_the_unit_of_weight(case, unit, solver):
    weights, shares = CASES[case]
    asked = {label: float(s) for label, s in shares.items()} if isinstance(shares, dict) else float(shares)
    problem = models.outlier_svm(X, Y, asked, sample_weight=unit * np.array(weights))
    truth, found = widest_on_a_line(weights, shares), mipclass.solve(problem, solver)
    if truth is None and solver == "subsystems":
        assert not found.values  # it proves rules only, and there is none
    elif truth is None:
        assert (found.status, found.claim) == ("infeasible", "proven")
    else:
        assert found.claim == "proven"
        assert found.objective == pytest.approx(truth, rel=1e-5)
        assert found.recounted
        assert not problem.violations(found.values)


@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e9])
def test_one_point_too_many_is_a_violation_in_every_unit(unit):
    problem = models.outlier_svm(X, Y, {-1: 0.0, 1: 0.3}, sample_weight=np.full(6, unit))
    rule = {
        "w": np.array([0.8]),
        "b": np.array(-0.6),
    }  # leaves out the positive at -1: a third of the positives' weight
    assert (Y * (X @ rule["w"] + rule["b"]) < 1 - 1e-6).tolist() == [False, False, False, False, True, False]
    [excess] = problem.violations(rule).values()
    assert excess == pytest.approx(0.1 * unit)


def test_a_limit_that_rounding_puts_below_one_point_still_leaves_one_out():
    """A share of 0.1 of ten points of weight 0.1 is 0.1 or a rounding error less; three tenths have a sum above 0.3."""
    points, labels = np.append(X, [[-4.0], [-5.0], [4.0], [5.0]], axis=0), np.append(Y, [-1, -1, 1, 1])
    for weight in (0.1, 0.1 + 0.2, 1 / 3, 0.7):
        weights = np.full(10, weight)
        for count in (1, 3):
            problem = models.outlier_svm(points, labels, count / 10, sample_weight=weights)
            plain = models.outlier_svm(points, labels, count)
            for solver in ("enumerate", "highs"):
                assert mipclass.solve(problem, solver).objective == pytest.approx(
                    mipclass.solve(plain, solver).objective, rel=1e-5
                )
            with pytest.raises(mipclass.errors.UnsupportedProgramError):
                mipclass.solve(problem, "gilbert")


@pytest.mark.parametrize("weight", [1.0, 0.1, 0.3, 0.7, 1e-9])
def test_a_sixth_of_six_equal_points_is_one_point(weight):
    """A sixth of six times 0.7 is computed as 0.6999999999999998, less than the weight of a point by rounding alone."""
    points, labels = np.array([[-3.0], [-2.0], [-1.0], [1.0], [2.0], [3.0]]), np.array([-1, -1, 1, -1, 1, 1])
    problem = models.outlier_svm(points, labels, 1 / 6, sample_weight=np.full(6, weight))
    with pytest.raises(mipclass.errors.UnsupportedProgramError, match="leaves out points"):
        mipclass.solve(problem, "gilbert")
    found = mipclass.solve(problem)
    assert found.objective == pytest.approx(2.0)  # without the positive at -1 the classes are 1 apart, from 1 to 2
    assert np.flatnonzero(labels * (points @ found.values["w"] + found.values["b"]) < 1 - 1e-6).tolist() in ([2], [3])


def test_a_class_may_be_light():
    """Only the weight of the class counts, however little of all weight that is."""
    weights = np.where(Y > 0, 1e-10, 1.0)
    problem = models.outlier_svm(X, Y, {-1: 0.0, 1: 0.4}, sample_weight=weights)
    found = mipclass.solve(problem, "enumerate")
    assert found.objective == pytest.approx(2 / (2.0 + 0.5) ** 2)  # without the positive at -1, between -0.5 and 2
    with pytest.raises(mipclass.errors.InvalidInputError, match="points of class 1"):
        models.outlier_svm(X, Y, 0.1, sample_weight=weights)
