"""Householder QR with column pivoting, rows sorted by size: systems with A'A that keep the digits which forming A'A would lose.

With rows in order of decreasing size and pivoting, the computed factors are those of a matrix in which every row is changed by rounding relative to its
own size (Cox and Higham, 1998). So rows (features) may be in units far apart. A'A keeps the squares of the units beside each other instead, and
loses all digits of the smaller ones where units are 10^8 apart. One factorisation costs O(d k^2) for d rows and k columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.decorator import njit

DEPENDENT = 1e-14  # a column of which this part of its length is left is a combination of those before it


@njit(cache=True)
def pivoted_qr(A: Any, b: Any) -> Any:
    """(R, pivots, rank, Q'b) of A[:, pivots] = Q R; `rank` columns are independent."""
    d, k = A.shape
    sizes = np.zeros(d)
    for i in range(d):
        for j in range(k):
            sizes[i] = max(sizes[i], abs(A[i, j]))
    order = np.argsort(-sizes)
    R, right, pivots = A[order].copy(), b[order].copy(), np.arange(k)
    lengths = np.zeros(k)
    for j in range(k):
        lengths[j] = np.sqrt(np.dot(A[:, j].copy(), A[:, j].copy()))
    for step in range(min(d, k)):
        largest, chosen = 0.0, -1
        for j in range(step, k):
            left = 0.0
            for i in range(step, d):
                left += R[i, j] * R[i, j]
            left = np.sqrt(left)
            if left > largest and left > DEPENDENT * lengths[pivots[j]]:
                largest, chosen = left, j
        if chosen < 0:
            return R, pivots, step, right
        for i in range(d):
            R[i, step], R[i, chosen] = R[i, chosen], R[i, step]
        pivots[step], pivots[chosen] = pivots[chosen], pivots[step]
        _reflect(R, right, step, largest)
    return R, pivots, min(d, k), right


@njit(cache=True)
def _reflect(R: Any, right: Any, step: int, length: float) -> None:
    """The reflection that takes column `step` below its diagonal to zero, applied to the columns after it and to the right side."""
    d, k = R.shape
    head = -length if R[step, step] > 0.0 else length
    u = np.zeros(d)
    for i in range(step, d):
        u[i] = R[i, step]
    u[step] -= head
    square = np.dot(u, u)
    for j in range(step + 1, k):
        along = 0.0
        for i in range(step, d):
            along += u[i] * R[i, j]
        for i in range(step, d):
            R[i, j] -= 2.0 * along / square * u[i]
    along = np.dot(u, right)
    for i in range(step, d):
        right[i] -= 2.0 * along / square * u[i]
        R[i, step] = 0.0
    R[step, step] = head


@njit(cache=True)
def _upper_solution(R: Any, pivots: Any, rank: int, right: Any) -> Any:
    """x with R x[pivots] = right in the first `rank` rows and columns; 0 for the other columns."""
    x = np.zeros(len(pivots))
    for i in range(rank - 1, -1, -1):
        value = right[i]
        for j in range(i + 1, rank):
            value -= R[i, j] * x[pivots[j]]
        x[pivots[i]] = value / R[i, i]
    return x


@njit(cache=True)
def least_squares(A: Any, b: Any) -> Any:
    """x with |A x - b| least; 0 for columns that depend on others."""
    R, pivots, rank, right = pivoted_qr(A, b)
    return _upper_solution(R, pivots, rank, right)


@njit(cache=True)
def normal_solution(A: Any, b: Any) -> Any:
    """x with A'A x = b in the independent columns of A; 0 for the others."""
    R, pivots, rank, _ = pivoted_qr(A, np.zeros(len(A)))
    z = np.zeros(rank)
    for i in range(rank):
        value = b[pivots[i]]
        for j in range(i):
            value -= R[j, i] * z[j]
        z[i] = value / R[i, i]
    return _upper_solution(R, pivots, rank, z)
