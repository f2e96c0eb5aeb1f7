"""Rows made comparable before a search: columns of mean zero and variance one, rows of length one."""

from __future__ import annotations

import numpy as np

from ....arrays import Array
from ....kernels.decorator import njit


@njit(cache=True)
def standardised(Z: Array, least: Array) -> tuple[Array, Array]:
    """(S, unit rows of X S) for X = the rows z_i times their last entry t_i = -1 or +1, so that X = (x_i, 1).

    X S has columns of mean zero and variance one, but for the last one, which stays, and for constant ones: those whose standard
    deviation is at most `least`, entry by entry. O(n m).
    """
    n, m = Z.shape
    rows = np.empty((n, m))
    centre, spread = np.zeros(m), np.zeros(m)
    for i in range(n):
        for j in range(m):
            rows[i, j] = Z[i, j] * Z[i, m - 1]
            centre[j] += rows[i, j]
    for j in range(m):
        centre[j] /= n
    for i in range(n):
        for j in range(m):
            spread[j] += (rows[i, j] - centre[j]) ** 2
    S = np.zeros((m, m))
    for j in range(m):
        constant = j == m - 1 or spread[j] <= n * least[j] * least[j]
        centre[j] = centre[j] if j < m - 1 else 0.0
        S[j, j] = 1.0 if constant else 1.0 / np.sqrt(spread[j] / n)
        S[m - 1, j] -= centre[j] * S[j, j]
    for i in range(n):
        for j in range(m):
            rows[i, j] = (rows[i, j] - centre[j]) * S[j, j]
    to_unit_length(rows)
    return S, rows


@njit(cache=True)
def to_unit_length(rows: Array) -> None:
    """Each row divided by its length, in place; zero rows stay zero."""
    for i in range(rows.shape[0]):
        size = 0.0
        for j in range(rows.shape[1]):
            size += rows[i, j] * rows[i, j]
        scale = 1.0 / np.sqrt(size) if size > 0.0 else 1.0
        for j in range(rows.shape[1]):
            rows[i, j] *= scale
