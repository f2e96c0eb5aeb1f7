"""Slabs: how wide a direction separates two classes once some points may be left out.

For a unit vector u, the projections p.u of the positive class P1 and q.u of the negative class P2, and k1, k2 points
that may be left out:

    a = (k1+1)-th smallest p.u,   c = (k2+1)-th largest q.u,   width(u) = a - c.

The slab c <= u.x <= a separates the rest; its rule is w = 2u/(a-c), b = -(a+c)/(a-c), so that w.x + b is +1 and -1 on
its two faces. One class is the special case P2 = {origin}: a slab from the origin to the points.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...arrays import Array, Index, Mask
from ...models.outlier_svm import limit_tolerance

Points = Any
"""A float64 ndarray or CSR matrix, one point per row."""

ROUNDING = 1e-9
"""Tolerance, in points of weight one, when amounts are compared with counts: products such as 0.29 * 100 are not exact."""

SORTED = 5000
"""Points up to which `worst` sorts what it selects; beyond, the order costs more than the selection."""


@dataclass(frozen=True, eq=False)
class Cloud:
    """One class: its points and their weights (None: one each). A point of weight 2 counts like two equal points.

    With `index` the points are those rows of a matrix shared with the other class, which is then neither copied nor read
    twice (see `project`).
    """

    points: Points
    weights: Array | None = None
    index: Index | None = None

    @property
    def n(self) -> int:
        """The number of points."""
        return int(self.points.shape[0]) if self.index is None else len(self.index)

    @property
    def weight(self) -> float:
        """The sum of the weights."""
        return float(self.n if self.weights is None else self.weights.sum())

    @property
    def lightest(self) -> float:
        """The smallest weight."""
        return 1.0 if self.weights is None else float(self.weights.min())

    @property
    def is_whole(self) -> bool:
        """Whether all weights are whole numbers, as those of points are that count once each."""
        return self.weights is None or bool((self.weights == np.round(self.weights)).all())

    def take(self, chosen: Index | Mask) -> Cloud:
        """Some of the points, as a cloud of its own."""
        rows = chosen if self.index is None else self.index[chosen]
        return Cloud(self.points[rows], None if self.weights is None else self.weights[chosen])

    def rows(self, chosen: Index) -> Array:
        """Some of the points as dense rows."""
        return dense_rows(self.points, chosen if self.index is None else self.index[chosen])


def mean_difference(p1: Cloud, p2: Cloud) -> Array:
    """The mean of P1 less that of P2; one pass over a shared matrix."""
    weights = [np.ones(p.n) if p.weights is None else p.weights for p in (p1, p2)]
    share1, share2 = (w / w.sum() for w in weights)
    if p1.index is not None and p2.index is not None and p1.points is p2.points:
        signed = np.zeros(p1.points.shape[0])
        signed[p1.index], signed[p2.index] = share1, -share2
        return np.asarray(signed @ p1.points).ravel()
    ends = [np.asarray(s @ _own(p)).ravel() for p, s in ((p1, share1), (p2, share2))]
    return np.asarray(ends[0] - ends[1])


def _own(cloud: Cloud) -> Points:
    return cloud.points if cloud.index is None else cloud.points[cloud.index]


def project(p1: Cloud, p2: Cloud, directions: Array) -> tuple[Array, Array]:
    """Inner products of m directions with both classes, as m rows each; O(m n d), CSR O(m nnz)."""
    if p1.index is not None and p2.index is not None and p1.points is p2.points:
        f = products(p1.points, directions)
        return np.take(f, p1.index, axis=1), np.take(f, p2.index, axis=1)
    f1, f2 = products(p1.points, directions), products(p2.points, directions)
    return f1 if p1.index is None else f1[:, p1.index], f2 if p2.index is None else f2[:, p2.index]


def products(points: Points, directions: Array) -> Array:
    """Inner products of m directions with all points, as m rows."""
    if sp.issparse(points):
        return np.ascontiguousarray((points @ directions.T).T)
    return np.asarray(directions @ points.T)


def dense_rows(points: Points, index: Index) -> Array:
    """The chosen points as dense rows."""
    chosen = points[index]
    return np.asarray(chosen.toarray() if sp.issparse(chosen) else chosen, dtype=np.float64)


def unit(x: Array) -> Array:
    """x / |x|."""
    return np.asarray(x / np.linalg.norm(x))


def unit_rows(points: Array) -> Array:
    """Each row divided by its length."""
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def origin(d: int) -> Cloud:
    """The origin as the opposite class of one-class data."""
    return Cloud(np.zeros((1, d)))


@dataclass(frozen=True)
class Budget:
    """What may be left out: an amount (of weight) of each class, or, when `total` is given, of both in any split.

    Amounts are gamma n and need not be whole: a margin leaves out at most gamma n, so floor(gamma n) points; the candidates
    of a node are the ceil((1 + delta) gamma n) worst projections.
    """

    positives: float = 0.0
    negatives: float = 0.0
    total: float | None = None

    @property
    def amounts(self) -> tuple[float, float]:
        """The most that may be left out of each class."""
        return (self.positives, self.negatives) if self.total is None else (self.total, self.total)

    def scaled(self, ratio1: float, ratio2: float, ratio: float) -> Budget:
        """The same fractions of a subsample."""
        total = None if self.total is None else self.total * ratio
        return Budget(self.positives * ratio1, self.negatives * ratio2, total)


@dataclass(frozen=True, eq=False)
class Slabs:
    """One slab for each of m directions: upper face a, lower face c, and the weight left out of either class."""

    a: Array
    c: Array
    out1: Array
    out2: Array

    @property
    def width(self) -> Array:
        """a - c for each direction; negative where the points that stay overlap."""
        return self.a - self.c


def slabs(f1: Array, f2: Array, budget: Budget, weights1: Array | None = None, weights2: Array | None = None) -> Slabs:
    """The widest slab along each direction, from projections f1 (m x n1) and f2 (m x n2).

    O(m (n + k log k)) for unit weights, O(m n log n) otherwise. With a total budget every split is tried; ties go to the
    one that leaves out least of the positive class. One point of each class always stays.
    """
    amount1, amount2 = budget.amounts
    low, left1 = head(f1, amount1, weights1)
    high, left2 = head(-f2, amount2, weights2)
    row = np.arange(len(f1))
    if budget.total is None:
        last1 = (left1 <= amount1 + tolerance(weights1)).sum(axis=1) - 1
        last2 = (left2 <= amount2 + tolerance(weights2)).sum(axis=1) - 1
    elif weights1 is None and weights2 is None:
        last1, last2 = best_count_split(low, high, floor(budget.total + ROUNDING))
    else:
        last1, last2 = best_split(low, left1, high, left2, budget.total + tolerance(weights1, weights2))
    return Slabs(low[row, last1], -high[row, last2], left1[row, last1], left2[row, last2])


def tolerance(*weights: Array | None) -> float:
    """By how much the weight left out may exceed an amount: that of a count, or of the model's limit on sums of these weights."""
    given = [w for w in weights if w is not None]
    return limit_tolerance(np.concatenate(given)) if given else ROUNDING


def head(f: Array, amount: float, weights: Array | None) -> tuple[Array, Array]:
    """The smallest projections in order, with the weight that lies before each; enough of them to leave out `amount`."""
    m, n = f.shape
    if weights is None:
        k = min(floor(amount + ROUNDING), n - 1)
        values = f.copy()
        # Row by row: NumPy selects in one row several times faster than along an axis.
        for row in values:
            row.partition(k)
            row[: k + 1].sort()
        return values[:, : k + 1], np.broadcast_to(np.arange(k + 1, dtype=np.float64), (m, k + 1))
    order = np.argsort(f, axis=1)
    before = np.zeros(f.shape)
    np.cumsum(weights[order[:, :-1]], axis=1, out=before[:, 1:])
    return np.take_along_axis(f, order, axis=1), before


def best_count_split(low: Array, high: Array, total: int) -> tuple[Index, Index]:
    """As `best_split`, when every point has weight one; O(m total)."""
    most1, most2 = low.shape[1] - 1, high.shape[1] - 1
    k1 = np.arange(min(most1, max(0, total - most2)), most1 + 1)
    k2 = np.minimum(total - k1, most2)
    best = np.argmax(low[:, k1] + high[:, k2], axis=1)
    return k1[best], k2[best]


def best_split(low: Array, left1: Array, high: Array, left2: Array, most: float) -> tuple[Index, Index]:
    """Positions of the faces in `low` and `high` (negated) for the widest slab that leaves out at most `most` in all."""
    last1, last2 = np.empty(len(low), dtype=np.int64), np.empty(len(low), dtype=np.int64)
    for v in range(len(low)):
        allowed = np.flatnonzero(left1[v] <= most)
        other = np.searchsorted(left2[v], most - left1[v][allowed], side="right") - 1
        best = int(np.argmax(low[v][allowed] + high[v][other]))
        last1[v], last2[v] = allowed[best], other[best]
    return last1, last2


def worst(f: Array, amount: float, weights: Array | None) -> tuple[Index, Array]:
    """Positions of the smallest projections that make up `amount`, and their summed weights; O(n), or O(n log n) with weights.

    They come smallest first, so that a point of weight two stands where two equal points would; only many points (more
    than SORTED) of weight one come in the order of the data.
    """
    if weights is None:
        k = min(ceil(amount - ROUNDING), len(f))
        part = np.flatnonzero(f <= np.partition(f, k - 1)[k - 1])[:k]
        return part[np.argsort(f[part])] if len(f) <= SORTED else part, np.arange(1.0, k + 1.0)
    order = np.argsort(f, kind="stable")
    summed = np.cumsum(weights[order])
    k = min(int(np.searchsorted(summed, amount - tolerance(weights))) + 1, len(f))
    return order[:k], summed[:k]
