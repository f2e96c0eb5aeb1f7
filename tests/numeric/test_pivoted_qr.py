"""Least squares and normal equations by pivoted QR against fractions, with features in units far apart."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from mipclass.arrays import Array
from mipclass.numeric.hulls import nearest_points
from mipclass.numeric.pivoted_qr import least_squares, normal_solution


def exact_solution(matrix: list[list[Fraction]], right: list[Fraction]) -> list[float]:
    """Gauss elimination in fractions."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        chosen = next(i for i in range(k, len(rows)) if rows[i][k])
        rows[k], rows[chosen] = rows[chosen], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(len(rows)):
            if i != k:
                rows[i] = [value - rows[i][k] * other for value, other in zip(rows[i], rows[k], strict=True)]
    return [float(row[-1]) for row in rows]


def exact_product(p: list[float], q: list[float]) -> Fraction:
    return sum((Fraction(x) * Fraction(y) for x, y in zip(p, q, strict=True)), Fraction(0))


def exact_gram(A: Array) -> list[list[Fraction]]:
    return [[exact_product(p, q) for q in A.T.tolist()] for p in A.T.tolist()]


@pytest.mark.parametrize("seed", range(10))
def test_systems_in_units_far_apart_keep_their_digits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, k = 5, int(rng.integers(1, 6))
    A = rng.standard_normal((d, k)) * 10.0 ** rng.uniform(-4, 4, d)[:, None]
    b = rng.standard_normal(d) * np.abs(A).max(axis=1)
    exact = exact_solution(exact_gram(A), [exact_product(column, b.tolist()) for column in A.T.tolist()])
    assert least_squares(A, b) == pytest.approx(exact, rel=1e-6)
    c = rng.standard_normal(k)
    exact = exact_solution(exact_gram(A), [Fraction(value) for value in c.tolist()])
    assert normal_solution(A, c) == pytest.approx(exact, rel=1e-6, abs=1e-6 * np.abs(exact).max())


def test_dependent_columns_get_zeros() -> None:
    A = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0], [1.0, 2.0, 1.0]])
    x = least_squares(A, np.array([3.0, 1.0, 4.0]))
    assert A @ x == pytest.approx([3.0, 1.0, 4.0])
    assert (x == 0).sum() == 1


@pytest.mark.parametrize("seed", range(10))
def test_nearest_points_of_hulls_in_units_far_apart_are_optimal(seed: int) -> None:
    """v is nearest to the origin when no difference of the hulls has a smaller product with it than |v|^2."""
    rng = np.random.default_rng(seed)
    units = 10.0 ** np.array([3.0, -3.0, 0.0, 1.0])
    P, N = (rng.standard_normal((6, 4)) * units for _ in range(2))
    P[:, 2] += 8
    _, _, weights, v, _ = nearest_points(P, N, -1.0)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    assert (P @ v).min() - (N @ v).max() >= (v @ v) * (1 - 1e-6)
