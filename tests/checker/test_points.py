"""The checker's points: what it decides in float64 is what exact arithmetic says."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pytest

import mipclass
from mipclass import models
from mipclass.certificates.certificate import floats
from mipclass.checker.arithmetic import Rejected, exact, tally
from mipclass.checker.points.images import rounded_images
from mipclass.checker.points.merged import numbers_of_equals
from mipclass.checker.points.vectors import Vectors, products

BITS = 21


def exactly_rounded(A, M):
    """Images in fractions, scaled to a largest entry of 2^BITS and rounded half up; whether that lost anything."""
    points, lost = [], []
    for row in A.tolist():
        image = [sum(Fraction(a) * Fraction(m) for a, m in zip(row, column, strict=True)) for column in M.T.tolist()]
        top = max(map(abs, image))
        scaled = [value * 2**BITS / top for value in image]
        points.append([(2 * x + 1) // 2 for x in scaled])
        lost.append(int(points[-1] != scaled))
    return points, lost


def _data(kind, random, n, d):
    A = random.standard_normal((n, d))
    if kind == "lattice":
        A = random.integers(-3, 4, (n, d)).astype(float)
        A[~A.any(axis=1)] = 1.0
    elif kind == "halves":  # many images lie exactly between two whole numbers
        A = random.integers(1, 1 << 22, (n, d)) + 0.5 * (random.random((n, d)) < 0.3)
        A[:, 0] = 2.0**22
    elif kind == "far":
        A = A * 2.0 ** random.integers(-1000, 900, (n, 1))
    elif kind == "underflow":
        A = A * 2.0 ** random.integers(-1070, 900, (n, d))
    return A


@pytest.mark.parametrize("kind", ["normal", "lattice", "halves", "far", "underflow"])
@pytest.mark.parametrize("seed", range(4))
def test_rounded_images_are_those_of_exact_arithmetic(kind, seed):
    random = np.random.default_rng(seed)
    d = int(random.integers(2, 6))
    A = _data(kind, random, 60, d)
    M = np.eye(d) if kind in ("lattice", "halves") else random.standard_normal((d, d))
    points, lost = rounded_images({"columns": d, "map": floats(M)}, Vectors(A), BITS, "here")
    assert (points.tolist(), lost.tolist()) == exactly_rounded(A, M)


def test_an_image_of_zero_is_rejected():
    with pytest.raises(Rejected, match="row 1 to zero"):
        rounded_images({"columns": 1, "map": ["1", "-1"]}, Vectors(np.array([[1.0, 0.0], [2.0, 2.0]])), BITS, "here")


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e-320, 1e300])
def test_products_know_how_far_they_may_be_off(scale):
    random = np.random.default_rng(3)
    A, M = random.standard_normal((200, 4)) * scale, random.standard_normal((4, 1))
    M[3] = -(A[0, :3] @ M[:3, 0]) / A[0, 3]  # the first product cancels
    found, doubt = products(A, M)
    for row, value, room in zip(A.tolist(), found[:, 0], doubt[:, 0], strict=True):
        true = sum(Fraction(a) * Fraction(m) for a, m in zip(row, M[:, 0].tolist(), strict=True))
        assert not np.isfinite(room) or abs(true - Fraction(value)) <= Fraction(room)


def test_rows_in_fractions_stay_where_they_were_chosen():
    rows = Vectors(np.array([[1.0], [2.0]]), [[Fraction(1, 3)]])
    assert len(rows) == 3
    assert list(rows.among([2, 0])) == [[Fraction(1, 3)], [Fraction(1)]]
    assert list(rows.among([1, 2])) == [[Fraction(2)], [Fraction(1, 3)]]


def test_equal_rows_have_one_number():
    values = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
    numbers = numbers_of_equals(values)
    assert numbers[0] == numbers[2]
    assert sorted(set(numbers.tolist())) == [0, 1, 2]


def test_a_tally_adds_up_to_the_sum():
    values = [exact(k % 3) for k in range(10)] + [Fraction(1, 3)]
    assert sum(value * times for value, times in tally(values)) == sum(values)
    assert exact("0x1.8p+0") is exact("3/2")


@pytest.mark.parametrize("weights", [[1e-6] * 4, [3e-4, 7e-4, 1e-4, 9e-4], [1e-12, 1e12, 1.0, 1.0], [5e-324] * 4])
def test_twins_that_are_all_there_is_to_pay_are_counted_exactly(weights):
    X, y = np.array([[0.0], [0.0], [1.0], [2.0]]), np.array([-1, 1, 1, 1])
    truth = Fraction(min(weights[:2]))  # every rule pays for one of the twins, and "always 1" for nothing else
    result = mipclass.solve(models.zero_one(X, y, sample_weight=weights), "exact")
    assert (result.claim, result.certified) == ("proven", True)
    verdict = mipclass.verify(result.certificate, X, y)
    assert verdict.accepted
    assert verdict.lower == verdict.upper == truth

    forged = copy.deepcopy(result.certificate.content)
    forged["lower"] |= {"points": [0], "weights": [1], "unit": str(truth)}  # the twins' cost again, as that of a row
    assert not mipclass.verify(forged, X, y).accepted
