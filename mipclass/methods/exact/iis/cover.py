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

from ....arrays import Array, Index, Mask, Positions
from ....certificates.certificate import Statement
from ....modelling.data import far_scales
from ...zero_one.costs import ExactCosts, count_costs, exact_costs
from ...zero_one.prepared import ZeroOneData, prepare
from ...zero_one.scope import column_scales
from ..rational import exactly_at_least, surely_positive

NEAR_SIDE = 2.0**20
"""Side rows whose largest entry lies within [1/NEAR_SIDE, NEAR_SIDE] (about 1e-6 to 1e6) stay as they are: HiGHS drops entries below 1e-9."""


@dataclass(frozen=True, eq=False)
class CoverData:
    """Distinct points `Z` (signed rows over all features, offset last when there is one) with whole `costs` in units of `unit`.

    points[r] is the data row that stands for row r. A limit is (coefficients over rows, at_most), and `exact_limits` holds the same with
    exact sums of the coefficients of merged points; a side row is (a, c): a.W >= c.
    `map` turns W = map V into whitened coordinates; `scales` are those of the relative margin (`zero_one.scope`). `constant` is paid by
    every rule. Without an offset W is w alone. `masses` are the exact costs, which `costs` round down unless `is_exact`; None where nobody asks
    for them.
    """

    Z: Array
    points: Positions
    costs: Index
    unit: Fraction
    constant: Fraction
    limits: tuple[tuple[Array, float], ...]
    sides: tuple[tuple[Array, float], ...]
    margin: int
    map: Array
    scales: Array
    has_offset: bool = True
    exact_limits: tuple[ExactCosts, ...] = ()
    is_exact: bool = True
    masses: ExactCosts | None = None

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.Z)

    def errors(self, W: Array) -> Mask:
        """Points W gets wrong; in the scale-free case also those whose positive margin is within rounding of zero."""
        if self.margin:
            return ~exactly_at_least(self.Z, W, np.ones(self.n))
        return ~surely_positive(self.Z, W)

    def cost(self, value: int | None) -> float | None:
        """A whole number of units as a loss of the user's problem, constant included; None stays None."""
        return None if value is None else float(self.constant + self.unit * value)

    @property
    def typical_cost(self) -> float:
        """The (lower) median of the costs, at least one: what a single error costs, in units."""
        return max(1.0, float(np.sort(self.costs)[(self.n - 1) // 2])) if self.n else 1.0

    def keeps_sides(self, W: Array) -> bool:
        """Whether W satisfies every side row, exactly."""
        rows = np.array([a for a, _ in self.sides]).reshape(len(self.sides), len(W))
        return bool(exactly_at_least(rows, W, np.array([c for _, c in self.sides])).all())

    def side_rows(self) -> tuple[Array, Array]:
        """(S, ends) with S V >= ends for the side rows in the coordinates of `map`; rows of far scale are divided by a power of two."""
        S = np.array([a @ self.map for a, _ in self.sides]).reshape(len(self.sides), self.map.shape[1])
        ends = np.array([c for _, c in self.sides], dtype=np.float64)
        scales = far_scales(S.T, NEAR_SIDE) if S.size else np.ones(len(S))
        return S / scales[:, None], ends / scales

    def excesses(self, wrong: Mask) -> list[Fraction]:
        """By how much these errors exceed each limit, exactly."""
        return [
            limit.sum(wrong) - Fraction(at_most)
            for limit, (_, at_most) in zip(self.exact_limits, self.limits, strict=True)
        ]

    def is_feasible(self, W: Array) -> bool:
        """Whether W satisfies every limit and every side row."""
        wrong = self.errors(W)
        return all(excess <= 0 for excess in self.excesses(wrong)) and self.keeps_sides(W)

    def loss(self, W: Array) -> int:
        """Cost of W's errors, in units, without the constant."""
        return int(self.costs[self.errors(W)].sum())


def plain_cover(X: Array, y_pm1: Array, data: ZeroOneData) -> CoverData:
    """The plain problem: its prepared rows, over all features again. Whitening is that of the prepared rows."""
    Z = _signed(X, y_pm1, data.representatives, intercept=True)
    M = data.over_all_features(data.map) if len(Z) else scaling(Z)
    counts = data.proof_counts
    costs = counts.counts, counts.unit, data.constant
    return CoverData(Z, data.representatives, *costs, (), (), 0, M, column_scales(Z), is_exact=counts.is_exact)


def constrained_cover(X: Array, y_pm1: Array, statement: Statement, at_most: Fraction | None = None) -> CoverData:
    """A problem with side constraints: equal points of equal labels merge, but classes are counted apart, so none cancel.

    at_most : a loss that some rule has; no cost is counted higher, which allows for finer units where costs are rounded.
    """
    counted = statement.costs > 0
    for coefficients, _ in statement.limits:
        counted = counted | (np.asarray(coefficients) != 0)
    mark = np.where(counted, np.where(statement.costs > 0, statement.costs, 1.0), 0.0)
    data = prepare(X, y_pm1, mark, cancel=False)
    group, count = data.group, len(data.Z)
    Z = _signed(X, y_pm1, data.representatives, statement.intercept)
    exact = exact_costs(statement.costs).summed_by(group, count)
    counts = count_costs(exact, None if at_most is None else int(at_most / exact.unit))
    exact_limits = tuple(
        exact_costs(np.asarray(c, dtype=np.float64)).summed_by(group, count) for c, _ in statement.limits
    )
    limits = tuple((_sum_by(group, np.asarray(c), count), float(k)) for c, k in statement.limits)
    sides = tuple((a if statement.intercept else a[:-1], c) for a, c in statement.rows)
    parts = limits, sides, statement.margin, scaling(Z), column_scales(Z), statement.intercept, exact_limits
    return CoverData(Z, data.representatives, counts.counts, counts.unit, Fraction(0), *parts, counts.is_exact, exact)


def _signed(X: Array, y_pm1: Array, points: Positions, intercept: bool) -> Array:
    """Rows t (x, 1) of the points, without the 1 when there is no offset."""
    labels = y_pm1[points]
    Z = X[points] * labels[:, None]
    return np.column_stack([Z, labels]) if intercept else Z


def _sum_by(group: Positions, values: Array, count: int) -> Array:
    kept = group >= 0
    return np.bincount(group[kept], weights=values[kept], minlength=count).astype(np.float64)


def scaling(Z: Array) -> Array:
    """The map that scales each column to mean square one; it is invertible, as side rows need it."""
    scales = far_scales(Z) if len(Z) else np.ones(Z.shape[1])
    size = scales * np.sqrt(((Z / scales) ** 2).mean(axis=0)) if len(Z) else scales
    return np.diag(1 / np.where(size > 0, size, 1.0))
