"""The points a program speaks of: equal points with equal labels become one of summed weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from .data import Data


@dataclass(frozen=True, eq=False)
class Points:
    """Distinct points of the data: equal points with equal labels (and group) are one, of summed weight.

    `first[k]` is the data row that stands for point k; `point_of[i]` is the point of data row i (-1 for weight zero).
    """

    X: Any
    y_pm1: Array
    weights: Array
    first: NDArray[np.int64]
    point_of: NDArray[np.int64]

    @property
    def n(self) -> int:
        return len(self.y_pm1)


def as_given(data: Data) -> Points:
    """Every data row is a point of its own."""
    rows = np.arange(data.n)
    return Points(data.X, data.y_pm1, data.weights, rows, rows)


def merged(data: Data, groups: Sequence[NDArray[Any]]) -> Points:
    """Equal points with equal labels and group labels become one of summed weight; weight zero is removed."""
    kept = np.flatnonzero(data.weights > 0)
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    keys = [X[kept], data.y_pm1[kept, None]]
    for labels in groups:
        keys.append(np.unique(labels, return_inverse=True)[1].reshape(-1, 1)[kept].astype(np.float64))
    table = np.ascontiguousarray(np.hstack(keys)) + 0.0  # -0.0 and 0.0 are the same number
    rows = table.view(np.dtype((np.void, table.dtype.itemsize * table.shape[1]))).ravel()
    _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
    order = np.argsort(first)  # keep the order of the data
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    representative = kept[first[order]]
    point_of = np.full(data.n, -1)
    point_of[kept] = rank[inverse.ravel()]
    weights = np.bincount(point_of[kept], weights=data.weights[kept], minlength=len(first))
    return Points(
        data.X[representative], data.y_pm1[representative], weights.astype(np.float64), representative, point_of
    )
