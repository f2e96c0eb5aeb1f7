"""Finds equal points, in one pass over points sorted so that equal ones are neighbours."""

from __future__ import annotations

import numpy as np

from ....arrays import Array, Index
from ....kernels.decorator import njit


@njit(cache=True)
def varying_columns(X: Array, used: Index) -> Index:
    """The columns of X that have more than one value in the used rows."""
    columns = np.empty(X.shape[1], np.int64)
    size = 0
    for j in range(X.shape[1]):
        for i in used:
            if X[i, j] != X[used[0], j]:
                columns[size] = j
                size += 1
                break
    return columns[:size].copy()


@njit(cache=True)
def places_of_equals(X: Array, columns: Index, order: Index) -> Index:
    """The number of the distinct point that each point of `order` is, in ascending order.

    Points that are equal over the columns are neighbours in `order`. O(n d).
    """
    places = np.empty(order.shape[0], np.int64)
    place = -1
    for k in range(order.shape[0]):
        if k == 0 or not are_equal(X, columns, order[k - 1], order[k]):
            place += 1
        places[k] = place
    return places


@njit(cache=True)
def are_equal(X: Array, columns: Index, i: int, k: int) -> bool:
    """Whether points i and k agree in all of the columns."""
    j = 0
    while j < columns.shape[0] and X[i, columns[j]] == X[k, columns[j]]:
        j += 1
    return j == columns.shape[0]
