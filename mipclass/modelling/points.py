"""Points: the distinct points of a program; equal points with equal labels become one of summed weight.

n data rows in d columns are merged in O(n d log n) by sorting the bytes of (x, y, group labels).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..arrays import Array, Index
from .data import Data


@dataclass(frozen=True, eq=False)
class Points:
    """The points of a program, each standing for one or more data rows with equal x, label and group labels.

    `first[k]` is the first data row of point k; `point_of[i]` is the point of data row i, or -1 when its weight is zero.
    """

    X: Any
    y_pm1: Array
    weights: Array
    first: Index
    point_of: Index

    @property
    def n(self) -> int:
        """The number of points."""
        return len(self.y_pm1)

    def dense(self) -> Array:
        """The points as a dense float64 array."""
        return np.asarray(self.X.toarray() if sp.issparse(self.X) else self.X, dtype=np.float64)

    def sums(self, values: Array) -> Array:
        """For each point, the sum of `values` over the data rows that it stands for."""
        kept = self.point_of >= 0
        return np.bincount(self.point_of[kept], values[kept], self.n).astype(np.float64, copy=False)


def as_given(data: Data) -> Points:
    """Every data row is a point of its own."""
    rows = np.arange(data.n)
    return Points(data.X, data.y_pm1, data.weights, rows, rows)


def merged(data: Data, groups: Sequence[NDArray[Any]]) -> Points:
    """Equal points with equal labels and group labels become one of summed weight; points of weight zero are left out."""
    kept = np.flatnonzero(data.weights > 0)
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    keys = [X[kept], data.y_pm1[kept, None]]
    for labels in groups:
        keys.append(np.unique(labels, return_inverse=True)[1].reshape(-1, 1)[kept].astype(np.float64))
    table = np.ascontiguousarray(np.hstack(keys)) + 0.0  # This turns -0.0 into 0.0, which has other bytes.
    rows = table.view(np.dtype((np.void, table.dtype.itemsize * table.shape[1]))).ravel()
    _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
    order = np.argsort(first)  # Points keep the order of the data.
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    representative = kept[first[order]]
    point_of = np.full(data.n, -1)
    point_of[kept] = rank[inverse.ravel()]
    weights = np.bincount(point_of[kept], weights=data.weights[kept], minlength=len(first))
    return Points(
        data.X[representative], data.y_pm1[representative], weights.astype(np.float64), representative, point_of
    )
