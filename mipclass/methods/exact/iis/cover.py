"""The 0-1 problem as a covering problem: errors must hit every infeasible subsystem.

    minimise    sum_i c_i e_i
    subject to  sum_{i in I} e_i >= 1      for each irreducible infeasible subsystem (IIS) I
                sum_i l_i e_i <= k         for each limit on errors
                e in {0, 1}

An IIS is a minimal set of points that, with the side rows on W = (w, b), no W gets right together. By Motzkin's theorem it comes with
u > 0 on I and v >= 0 on side rows such that  sum_i u_i z_i + sum_k v_k a_k = 0  and  sum_i u_i d + sum_k v_k c_k > 0, where d is 1;
that is what a certificate holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array
from ....certificates.certificate import Statement, dense
from ...zero_one.prepared import prepare, whitening
from ..rational import exactly_at_least, integer_weights, surely_positive


@dataclass(frozen=True, eq=False)
class CoverData:
    """Distinct points `Z` (signed rows over all features, offset last when there is one) with whole `costs` in units of `unit`.

    points[r] is the data row that stands for row r. A limit is (coefficients over rows, at_most); a side row is (a, c): a.W >= c.
    `map` turns W = map V into even coordinates. `constant` is paid by every rule.
    """

    Z: Array
    points: NDArray[np.intp]
    costs: NDArray[np.int64]
    unit: Fraction
    constant: Fraction
    limits: tuple[tuple[Array, float], ...]
    sides: tuple[tuple[Array, float], ...]
    margin: int
    map: Array

    @property
    def n(self) -> int:
        return len(self.Z)

    def errors(self, W: Array) -> NDArray[np.bool_]:
        """Points W gets wrong; in the scale-free case also those it gets right only by what rounding could have done."""
        if self.margin:
            return ~exactly_at_least(self.Z, W, np.ones(self.n))
        return ~surely_positive(self.Z, W)

    def keeps_sides(self, W: Array) -> bool:
        rows = np.array([a for a, _ in self.sides]).reshape(len(self.sides), len(W))
        return bool(exactly_at_least(rows, W, np.array([c for _, c in self.sides])).all())

    def is_feasible(self, W: Array) -> bool:
        wrong = self.errors(W)
        if any(float(coefficients[wrong].sum()) > at_most for coefficients, at_most in self.limits):
            return False
        return self.keeps_sides(W)

    def loss(self, W: Array) -> int:
        """Cost of W's errors, in units, without the constant."""
        return int(self.costs[self.errors(W)].sum())


def cover_data(X: Array, y_pm1: Array, statement: Statement) -> CoverData:
    """Merge equal points of equal labels; cancel opposite twins only in the plain problem, where classes are not counted apart."""
    X = dense(X)
    plain = statement.is_plain
    says = statement.costs > 0
    for coefficients, _ in statement.limits:
        says = says | (np.asarray(coefficients) != 0)
    mark = np.where(says, np.where(statement.costs > 0, statement.costs, 1.0), 0.0)
    if plain:
        data = prepare(X, y_pm1, statement.costs)
        group, count = data.group, len(data.Z)
        masses, constant = data.weights, Fraction(data.constant)
    else:
        data = prepare(X, y_pm1, mark, cancel=False)
        group, count = data.group, len(data.Z)
        masses, constant = _sum_by(group, statement.costs, count), Fraction(0)
    points = np.full(count, -1, dtype=np.intp)
    for i in range(len(X) - 1, -1, -1):
        if group[i] >= 0:
            points[group[i]] = i
    labels = y_pm1[points]
    Z = X[points] * labels[:, None]
    if statement.intercept:
        Z = np.column_stack([Z, labels])
    costs, unit = integer_weights(masses)
    limits = tuple((_sum_by(group, np.asarray(c), count), float(k)) for c, k in statement.limits)
    sides = tuple((a if statement.intercept else a[:-1], c) for a, c in statement.rows)
    M = whitening(Z) if plain and count else _scaling(Z)
    return CoverData(Z, points, costs, unit, constant, limits, sides, statement.margin, M)


def _sum_by(group: NDArray[np.intp], values: Array, count: int) -> Array:
    kept = group >= 0
    return np.bincount(group[kept], weights=values[kept], minlength=count).astype(np.float64)


def _scaling(Z: Array) -> Array:
    """Columns brought to unit size: a map that is invertible, as side rows need it."""
    size = np.sqrt((Z**2).mean(axis=0)) if len(Z) else np.ones(Z.shape[1])
    return np.diag(1 / np.where(size > 0, size, 1.0))
