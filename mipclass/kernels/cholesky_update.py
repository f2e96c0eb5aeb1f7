"""A Cholesky factor that grows and shrinks by one index: Q_AA = U'U with U stored by rows.

Row c of U is column c of the lower factor, so that every inner loop (elimination, dot product, plane rotation) runs along
contiguous memory. Only U[c, c:k] is meaningful. All functions cost O(k^2) and work in place; k is the present size.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]
# Sums may be reordered (this is what lets the compiler vectorise a dot product); nothing else is relaxed.
REORDER = {"reassoc", "contract"}


@njit(cache=True, fastmath=REORDER)
def solve_lower(U: Array, k: int, b: Array) -> None:
    """b <- inv(U') b."""
    for c in range(k):
        row = U[c]
        x = b[c] / row[c]
        b[c] = x
        for i in range(c + 1, k):
            b[i] -= x * row[i]


@njit(cache=True, fastmath=REORDER)
def solve_upper(U: Array, k: int, b: Array) -> None:
    """b <- inv(U) b."""
    for c in range(k - 1, -1, -1):
        row = U[c]
        total = 0.0
        for i in range(c + 1, k):
            total += row[i] * b[i]
        b[c] = (b[c] - total) / row[c]


@njit(cache=True, fastmath=REORDER)
def append(U: Array, k: int, column: Array, diagonal: float, floor: float) -> float:
    """Add an index with Q_{A,new} = column and Q_{new,new} = diagonal; returns the Schur complement.

    `column` is overwritten. A complement below `floor` is rounding noise of a dependent index and is raised to it.
    """
    solve_lower(U, k, column)
    square = 0.0
    for c in range(k):
        U[c, k] = column[c]
        square += column[c] * column[c]
    complement = diagonal - square
    U[k, k] = np.sqrt(max(complement, floor))
    return complement


@njit(cache=True, fastmath=REORDER)
def delete(U: Array, k: int, r: int, spare: Array) -> None:
    """Remove position r: the rows behind it move up and take back what row r carried, by plane rotations."""
    for i in range(r + 1, k):
        spare[i - 1] = U[r, i]
    for c in range(r):
        row = U[c]
        for i in range(r, k - 1):
            row[i] = row[i + 1]
    for c in range(r, k - 1):
        row = U[c]
        below = U[c + 1]
        for i in range(c, k - 1):
            row[i] = below[i + 1]
        x = spare[c]
        if x == 0.0:
            continue
        radius = np.hypot(row[c], x)
        cosine = row[c] / radius
        sine = x / radius
        row[c] = radius
        for i in range(c + 1, k - 1):
            u = row[i]
            e = spare[i]
            row[i] = cosine * u + sine * e
            spare[i] = cosine * e - sine * u
