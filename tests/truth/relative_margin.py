"""The least 0-1 loss among rules whose right points are right by a relative margin, by brute force in fractions.

A set R of points can be right by the margin delta when some W has  z_i.W - delta sum_j s_j |W_j| >= 1  for all i in R: with W = P - N and
P, N >= 0 a system of linear inequalities (where both P_j and N_j are positive, subtracting the smaller from both only helps). An exact
simplex with Bland's rule decides it. Shares nothing with the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

Vector = list[Fraction]


def is_feasible(A: Sequence[Vector]) -> bool:
    """Whether A x >= 1 has a solution x >= 0: the first phase of the simplex method, in fractions."""
    m, n = len(A), len(A[0]) if A else 0
    one, zero = Fraction(1), Fraction(0)
    # Columns: x, surplus, artificial variables, right-hand side.
    table = [
        [*row, *(-one if k == i else zero for k in range(m)), *(one if k == i else zero for k in range(m)), one]
        for i, row in enumerate(A)
    ]
    cost = [-sum((row[j] for row in table), zero) for j in range(n + m)] + [zero] * m + [-Fraction(m)]
    basis = [n + m + i for i in range(m)]
    while cost[-1] != 0:
        entering = next((j for j in range(n + 2 * m) if cost[j] < 0), -1)
        if entering < 0:
            return False
        ratios = [(row[-1] / row[entering], basis[i], i) for i, row in enumerate(table) if row[entering] > 0]
        leaving = min(ratios)[2]
        pivot = table[leaving][entering]
        table[leaving] = [value / pivot for value in table[leaving]]
        for i, row in enumerate(table):
            if i != leaving and row[entering]:
                factor = row[entering]
                table[i] = [v - factor * p for v, p in zip(row, table[leaving], strict=True)]
        factor = cost[entering]
        cost = [v - factor * p for v, p in zip(cost, table[leaving], strict=True)]
        basis[leaving] = entering
    return True


def least_loss_within(X: Any, y: Any, delta: Fraction) -> int:
    """The fewest wrong points of a rule whose other points are right by the relative margin delta."""
    points = [[Fraction(float(value)) for value in row] + [Fraction(1)] for row in np.asarray(X)]
    scales = [max(abs(value) for value in column) for column in zip(*points, strict=True)]
    rows = []
    for point, label in zip(points, np.asarray(y).tolist(), strict=True):
        z = [value if label > 0 else -value for value in point]
        less = [delta * s for s in scales]
        rows.append([v - d for v, d in zip(z, less, strict=True)] + [-v - d for v, d in zip(z, less, strict=True)])
    for wrong in sorted(product((False, True), repeat=len(rows)), key=sum):
        if is_feasible([row for row, bad in zip(rows, wrong, strict=True) if not bad]):
            return sum(wrong)
    raise AssertionError("all points may be wrong")
