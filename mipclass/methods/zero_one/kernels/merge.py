"""Merges equal points and cancels equal points of opposite labels, in one pass over points sorted so that equal ones are neighbours."""

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
def merge(
    X: Array, y_pm1: Array, weights: Array, columns: Index, order: Index, cancel: bool, group: Index
) -> tuple[Array, Array, float]:
    """Signed rows (t x, t) over the columns, their weights, and the weight cancelled; group[i] <- the row of point i.

    Points that are equal over the columns are neighbours in `order`. What weight is left of them becomes one row for each
    label, -1 first. O(n d).
    """
    n, m = order.shape[0], columns.shape[0] + 1
    Z, merged = np.empty((n, m)), np.empty(n)
    size, cancelled = 0, 0.0
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and are_equal(X, columns, order[start], order[stop]):
            stop += 1
        negative, positive = 0.0, 0.0
        for i in order[start:stop]:
            if y_pm1[i] > 0.0:
                positive += weights[i]
            else:
                negative += weights[i]
        common = min(negative, positive) if cancel else 0.0
        cancelled += common
        for label, mass in ((-1.0, negative - common), (1.0, positive - common)):
            if mass <= 0.0:
                continue
            for j in range(m - 1):
                Z[size, j] = label * X[order[start], columns[j]]
            Z[size, m - 1] = label
            merged[size] = mass
            for i in order[start:stop]:
                if label * y_pm1[i] > 0.0:
                    group[i] = size
            size += 1
        start = stop
    return Z[:size], merged[:size], cancelled


@njit(cache=True)
def are_equal(X: Array, columns: Index, i: int, k: int) -> bool:
    """Whether points i and k agree in all of the columns."""
    j = 0
    while j < columns.shape[0] and X[i, columns[j]] == X[k, columns[j]]:
        j += 1
    return j == columns.shape[0]
