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
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Points = Any  # float64 ndarray or CSR matrix, one point a row


@dataclass(frozen=True)
class Budget:
    """How many points may be left out: of each class, or, when `total` is given, of both together in any split.

    Amounts are gamma n and need not be whole: a margin leaves out floor(gamma n) points, the candidates of a node are
    the ceil((1 + delta) gamma n) worst projections.
    """

    positives: float = 0.0
    negatives: float = 0.0
    total: float | None = None

    def largest(self, n1: int, n2: int) -> tuple[int, int]:
        """The most that may be left out of each class; one point of each always stays."""
        amounts = (self.positives, self.negatives) if self.total is None else (self.total, self.total)
        return min(whole(amounts[0]), n1 - 1), min(whole(amounts[1]), n2 - 1)

    def candidates(self, k1: int, k2: int, delta: float) -> tuple[int, int]:
        """How many worst projections of each class to sample from, at a node that leaves out k1 and k2.

        At least one more than is left out, so that one of them belongs to the points that stay.
        """
        if self.total is None:
            amount1, amount2 = self.positives, self.negatives
        else:
            part = self.total - whole(self.total)
            amount1, amount2 = k1 + part, k2 + part
        return max(k1 + 1, ceil((1 + delta) * amount1 - 1e-9)), max(k2 + 1, ceil((1 + delta) * amount2 - 1e-9))

    def scaled(self, ratio1: float, ratio2: float, ratio: float) -> Budget:
        """The same fractions of a subsample."""
        total = None if self.total is None else self.total * ratio
        return Budget(self.positives * ratio1, self.negatives * ratio2, total)


def whole(amount: float) -> int:
    """floor, forgiving the rounding of products such as 0.29 * 100."""
    return floor(amount + 1e-9)


@dataclass(frozen=True)
class Slabs:
    """One slab for each of m directions: faces a (upper) and c (lower), and the numbers left out on either side."""

    a: Array
    c: Array
    k1: Ints
    k2: Ints

    @property
    def width(self) -> Array:
        return self.a - self.c


def project(points: Points, directions: Array) -> Array:
    """directions (m x d) times points (n x d), as m contiguous rows of n projections; O(m n d), CSR O(m nnz)."""
    if sp.issparse(points):
        return np.ascontiguousarray((points @ directions.T).T)
    return np.asarray(directions @ points.T)


def rows(points: Points, index: Ints) -> Array:
    """The chosen points as dense rows."""
    chosen = points[index]
    return np.asarray(chosen.toarray() if sp.issparse(chosen) else chosen, dtype=np.float64)


def slabs(f1: Array, f2: Array, budget: Budget) -> Slabs:
    """The widest slab along each direction, from projections f1 (m x n1) and f2 (m x n2); O(m (n + k log k)).

    With a total budget k every split k1 + k2 = k is tried; ties go to the smallest k1.
    """
    m, n1 = f1.shape
    n2 = f2.shape[1]
    most1, most2 = budget.largest(n1, n2)
    if budget.total is None:
        a = np.partition(f1, most1, axis=1)[:, most1]
        c = np.partition(f2, n2 - 1 - most2, axis=1)[:, n2 - 1 - most2]
        return Slabs(a, c, np.full(m, most1), np.full(m, most2))
    low = np.sort(np.partition(f1, most1, axis=1)[:, : most1 + 1], axis=1)
    high = np.sort(np.partition(f2, n2 - 1 - most2, axis=1)[:, n2 - 1 - most2 :], axis=1)[:, ::-1]
    total = whole(budget.total)
    k1 = np.arange(min(most1, max(0, total - most2)), most1 + 1)
    k2 = np.minimum(total - k1, most2)
    best = np.argmax(low[:, k1] - high[:, k2], axis=1)
    row = np.arange(m)
    return Slabs(low[row, k1[best]], high[row, k2[best]], k1[best], k2[best])


def left_out(f: Array, count: int, *, largest: bool) -> NDArray[np.bool_]:
    """Mask of the `count` smallest (or largest) projections; ties go to the earlier point."""
    mask = np.zeros(f.shape[0], dtype=bool)
    if count:
        mask[np.argsort(-f if largest else f, kind="stable")[:count]] = True
    return mask
