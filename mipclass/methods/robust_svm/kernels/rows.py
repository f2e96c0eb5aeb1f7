"""Products with the rows of a matrix that is dense or, when most of its entries are zero, also there in compressed form.

`Rows` is (start, column, value) of a CSR matrix; `start` is empty when there is no compressed form, and the dense rows are read.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ....arrays import Array, Index
from ....numeric.cholesky_update import REORDER

# Unsigned: numba then leaves out its test for negative indices, which would cost as much as the product.
Rows = tuple[NDArray[np.uint32], NDArray[np.uint32], Array]


@njit(cache=True, fastmath=REORDER)
def row_dot(Z: Array, i: int, x: Array) -> float:
    """Z_i.x, without making a slice."""
    total = 0.0
    for f in range(Z.shape[1]):
        total += Z[i, f] * x[f]
    return total


@njit(cache=True, inline="always")
def compressed_dot(rows: Rows, i: int, x: Array) -> float:
    """The same from compressed rows."""
    start, column, value = rows
    total = 0.0
    for e in range(start[i], start[i + 1]):
        total += value[e] * x[column[e]]
    return total


@njit(cache=True)
def dot_rows(Z: Array, rows: Rows, which: Index, k: int, x: Array, out: Array) -> None:
    """out[c] = Z[which[c]].x."""
    if rows[0].shape[0]:
        for c in range(k):
            out[c] = compressed_dot(rows, which[c], x)
    else:
        for c in range(k):
            out[c] = row_dot(Z, which[c], x)


@njit(cache=True)
def all_products(rows: Rows, x: Array, out: Array) -> None:
    """out = Zx from compressed rows."""
    for i in range(out.shape[0]):
        out[i] = compressed_dot(rows, i, x)


@njit(cache=True)
def add_rows(Z: Array, rows: Rows, which: Index, weights: Array, k: int, out: Array) -> None:
    """out += sum_c weights[c] Z[which[c]]."""
    start, column, value = rows
    if start.shape[0]:
        for c in range(k):
            i = which[c]
            w = weights[c]
            for e in range(start[i], start[i + 1]):
                out[column[e]] += w * value[e]
    else:
        combine_rows(Z, which, weights, k, out)


@njit(cache=True, fastmath=REORDER)
def combine_rows(Z: Array, rows: Index, weights: Array, k: int, out: Array) -> None:
    """out += sum_c weights[c] Z[rows[c]], four rows at a time to spare memory traffic on `out`."""
    n = out.shape[0]
    c = 0
    while c + 4 <= k:
        r0, r1, r2, r3 = Z[rows[c]], Z[rows[c + 1]], Z[rows[c + 2]], Z[rows[c + 3]]
        w0, w1, w2, w3 = weights[c], weights[c + 1], weights[c + 2], weights[c + 3]
        for i in range(n):
            out[i] += w0 * r0[i] + w1 * r1[i] + w2 * r2[i] + w3 * r3[i]
        c += 4
    while c < k:
        row = Z[rows[c]]
        w = weights[c]
        for i in range(n):
            out[i] += w * row[i]
        c += 1
