"""Homogeneous rows a.W >= 0 beside a 0-1 loss: the rules lie in a cone, and in a box search a row is a point of great weight.

A point of the search is wrong where a.W <= 0, a rule with a.W = 0 keeps its row. The two agree where the cone has an interior point W0
(a.W0 > 0 for all rows): moved a little towards W0, a rule with ties on rows keeps every row without a tie, and no point that it gets right
becomes wrong. So the least loss over the cone is the least loss over its interior, where no row is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ....arrays import Array, Index
from ....certificates.certificate import Statement, floats
from ...zero_one.prepared import RANK_TOLERANCE, WeightedRows, ZeroOneData, whitening
from ...zero_one.scope import column_scales
from ...zero_one.widest import deepest_point
from ..rational import exactly_at_least, surely_positive
from .lemmas import Walls

STEPS = tuple(range(-2, -45, -3))
"""Steps towards the interior that are tried, as powers of two of the rule's own length, the longest first."""

DIRECTIONS = 4
"""Directions at random in which rules near a rule are looked for: one would do with certainty, but for rounding."""

LARGEST_SUM = 1 << 61
"""All weights of a search together stay below this: they are added in 64 bits."""


@dataclass(frozen=True, eq=False)
class Cone:
    """Rows a over (w, b), each a.W >= 0, and a rule that keeps all of them without a tie."""

    rows: Array
    interior: Array

    def over(self, data: ZeroOneData) -> Cone:
        """The cone in the units of prepared data, which keep every column."""
        scales = np.append(data.scales, 1.0)
        return Cone(self.rows / scales, _near_one((self.interior * scales)[None, :])[0])

    def map(self, data: ZeroOneData) -> Array:
        """A map W = M V that reaches every rule, as far as points and rows tell rules apart."""
        if data.map.shape[1] == data.Z.shape[1]:
            return data.map
        return whitening_of(np.vstack([data.Z, _near_one(self.rows)]), column_scales(data.Z))

    def has(self, W: Array) -> bool:
        """Whether a rule keeps every row, exactly."""
        return bool(exactly_at_least(self.rows, W, np.zeros(len(self.rows))).all())

    def has_inside(self, W: Array) -> bool:
        """Whether a rule keeps every row without a tie, whatever rounding did."""
        return bool(surely_positive(self.rows, W).all())

    def inner(self, W: Array, Z: Array) -> Array:
        """A rule of the cone moved inside, by the longest step that keeps every point of Z right that W gets right; W if there is none."""
        if self.has_inside(W) or not self.has(W):
            return W
        right = surely_positive(Z, W)
        step = self.interior * (np.linalg.norm(W) / np.linalg.norm(self.interior))
        for power in STEPS:
            moved = W + 2.0**power * step
            if self.has_inside(moved) and surely_positive(Z[right], moved).all():
                return np.asarray(moved)
        return W

    def near(self, W: Array) -> Iterator[Array]:
        """Rules of the cone in all directions round W, the nearest last: one of them has no ties, and no point wrong that W gets right."""
        directions = np.random.default_rng(len(W)).standard_normal((DIRECTIONS, len(W))) * np.where(
            W != 0, np.abs(W), 1.0
        )
        step = self.interior * (np.linalg.norm(W) / np.linalg.norm(self.interior))
        for power in STEPS:
            for direction in directions:
                moved = W + 2.0**power * (direction + step)
                if self.has(moved):
                    yield moved

    def fits(self, weights: Index) -> bool:
        """Whether 64 bits hold the sum of these weights and those of the rows."""
        return (int(weights.sum()) + 1) * (len(self.rows) + 1) < LARGEST_SUM

    def among(self, Z: Array, weights: Index) -> tuple[Array, Index]:
        """(points and rows, their weights); a row weighs more than all points together."""
        weight = int(weights.sum()) + 1
        return np.vstack([Z, self.rows]), np.append(weights, np.full(len(self.rows), weight, dtype=np.int64))

    @property
    def walls(self) -> Walls:
        """The rows behind the points of a search."""
        return Walls(tuple((a, 0.0) for a in self.rows), len(self.rows))

    def beside(self, data: ZeroOneData) -> WeightedRows:
        """The points with the rows among them, for a heuristic search over rules inside the cone."""
        weights = np.full(len(self.rows), float(data.weights.sum()) + 1.0)
        return _RowsInMap(np.vstack([data.Z, _near_one(self.rows)]), np.append(data.weights, weights), self.map(data))

    def content(self, data: ZeroOneData, weights: Index) -> dict[str, Any]:
        """The cone as a certificate holds it: its interior rule over all features, and what a row, the last of these weights, weighs."""
        return {"interior": floats(data.over_all_features(self.interior[:, None])), "row_weight": int(weights[-1])}


@dataclass(frozen=True, eq=False)
class _RowsInMap(WeightedRows):
    """Weighted rows with a whitening of some of them."""

    whitening: Array

    @property
    def map(self) -> Array:
        """The whitening."""
        return self.whitening


def _near_one(rows: Array) -> Array:
    """Rows times powers of two, so that the largest entry of each lies between 1/2 and 1: squares of entries stay within range."""
    return np.asarray(np.ldexp(rows, -np.frexp(np.abs(rows).max(axis=1))[1][:, None]))


def whitening_of(Z: Array, scales: Array) -> Array:
    """`whitening` of signed points, or of points with rows of a cone among them, whose last entries are any numbers."""
    if (np.abs(Z[:, -1]) == 1).all():
        return whitening(Z, scales)
    divisors = np.where(scales > 0, scales, 1.0)
    unit = Z / divisors
    _, sizes, directions = np.linalg.svd(unit / np.linalg.norm(unit, axis=1, keepdims=True), full_matrices=False)
    seen = sizes > sizes[0] * RANK_TOLERANCE
    return np.asarray((directions[seen] / sizes[seen, None]).T / divisors[:, None])


def cone_of(statement: Statement) -> Cone | None:
    """The cone of a problem's rows over (w, b); None without rows, with rows that are not homogeneous, or without an interior."""
    rows = np.array([a for a, _ in statement.rows], dtype=np.float64)
    if not len(rows) or any(Fraction(end) != 0 for _, end in statement.rows):
        return None
    interior = _interior(rows)
    return None if interior is None or not surely_positive(rows, interior).all() else Cone(rows, interior)


def _interior(rows: Array) -> Array | None:
    """The W with the largest least a.W over rows of length one, |W_j| <= 1; None when that is not positive."""
    lengths = np.linalg.norm(rows, axis=1)
    if not ((lengths > 0) & np.isfinite(lengths)).all():
        return None
    return deepest_point(rows / lengths[:, None], None)
