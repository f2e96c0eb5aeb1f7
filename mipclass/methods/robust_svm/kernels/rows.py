"""Products with the rows of a matrix that is dense or, when most of its entries are zero, also held in compressed form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ....arrays import Array, Index, Positions
from ....kernels.decorator import njit
from ....numeric.cholesky_update import REORDER
from .compiled import inner_kernel

# Largest share of nonzeros at which rows are read in compressed form. Above it the indirect accesses, which cannot be
# vectorised, are taken to cost more than the zeros that they skip.
SPARSE = 0.25


class Compressed(NamedTuple):
    """Rows of a CSR matrix; `start` is empty when there is no compressed form and the dense rows are read.

    The indices are unsigned: numba then omits its test for negative indices, which would cost as much as the product.
    """

    start: NDArray[np.uint32]
    column: NDArray[np.uint32]
    value: Array


NOT_COMPRESSED = Compressed(np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.uint32), np.empty(0))


def compressed(Z: Array) -> Compressed:
    """The compressed form of Z when at most SPARSE of its entries are nonzero, else the empty one."""
    if np.count_nonzero(Z) > SPARSE * Z.size:
        return NOT_COMPRESSED
    sparse = sp.csr_array(Z)
    value = np.asarray(sparse.data, dtype=np.float64)
    return Compressed(sparse.indptr.astype(np.uint32), sparse.indices.astype(np.uint32), value)


@njit(cache=True, fastmath=REORDER)
def row_dot(Z: Array, i: int, x: Array) -> float:
    """Z_i.x, without making a slice."""
    total = 0.0
    for f in range(Z.shape[1]):
        total += Z[i, f] * x[f]
    return total


@njit(cache=True, inline="always")
def compressed_dot(rows: Compressed, i: int, x: Array) -> float:
    """Z_i.x from compressed rows."""
    start, column, value = rows
    total = 0.0
    for e in range(start[i], start[i + 1]):
        total += value[e] * x[column[e]]
    return total


@njit(cache=True)
def dot_rows(Z: Array, rows: Compressed, which: Index, k: int, x: Array, out: Array) -> None:
    """out[c] = Z[which[c]].x for c < k."""
    if rows.start.shape[0]:
        for c in range(k):
            out[c] = compressed_dot(rows, which[c], x)
    else:
        for c in range(k):
            out[c] = row_dot(Z, which[c], x)


@inner_kernel
def all_products(rows: Compressed, x: Array, out: Array) -> None:
    """out = Zx from compressed rows."""
    for i in range(out.shape[0]):
        out[i] = compressed_dot(rows, i, x)


@inner_kernel
def add_rows(Z: Array, rows: Compressed, which: Index, weights: Array, k: int, out: Array) -> None:
    """out += sum over c < k of weights[c] Z[which[c]]."""
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
    """out += sum over c < k of weights[c] Z[rows[c]], four rows at a time to spare memory traffic on `out`."""
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


@njit(cache=True)
def square_part(Q: Array, names: Index) -> Array:
    """The entries of Q whose row and column are both in `names`: half the time of np.ix_."""
    w = names.shape[0]
    out = np.empty((w, w))
    for r in range(w):
        row, to = Q[names[r]], out[r]
        for c in range(w):
            to[c] = row[names[c]]
    return out


@njit(cache=True)
def sums_along(start: Positions, column: Positions, value: Array, place: Index, columns: int) -> Array:
    """(rows, columns) sums of the first 1, 2, ... rows of a compressed matrix, whose column j becomes place[j]."""
    rows = start.shape[0] - 1
    out = np.zeros((rows, columns))
    for r in range(rows):
        if r:
            out[r] = out[r - 1]
        for e in range(start[r], start[r + 1]):
            out[r, place[column[e]]] += value[e]
    return out
