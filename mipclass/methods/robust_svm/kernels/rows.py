"""Products with the rows of a matrix that is dense or, when most of its entries are zero, also held in compressed form.

Products Q_i.v with a sparse change v of the multipliers (`Moved`) read only where v is not zero: the first points (the head) and a few
others (the late ones). A working set lists the points that are active at its beginning first. Mostly their multipliers are the ones that
change afterwards, so that a product reads the leading entries of a row, which follow each other in memory, and those of the few points that
became active later. With r rows, a head of h points and l late points in a working set of n points it costs O(r h + l (n - h)).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ....arrays import Array, Index, Positions
from ....kernels.decorator import njit
from ....numeric.cholesky_update import REORDER, dot
from .compiled import inner_kernel

# Largest share of nonzeros at which rows are read in compressed form. Above it the indirect accesses, which cannot be
# vectorised, are taken to cost more than the zeros that they skip.
SPARSE = 0.25
MOST_LATE = 0.25  # late points, as a share of the head, beyond which all count as late: a set that does not list its active points first


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


def square_part(Q: Array, names: Index) -> Array:
    """The entries of Q whose row and column are both in `names`: half the time of np.ix_."""
    out = np.empty((len(names), len(names)))  # from NumPy, which asks for large pages
    _copy_square_part(Q, names.astype(np.uint64), out)
    return out


@njit(cache=True)
def _copy_square_part(Q: Array, names: NDArray[np.uint64], out: Array) -> None:
    """out[r, c] = Q[names[r], names[c]]; the indices are unsigned for the reason given at Compressed."""
    for r in range(names.shape[0]):
        row, to = Q[names[r]], out[r]
        for c in range(to.shape[0]):
            to[c] = row[names[c]]


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


class Moved(NamedTuple):
    """A vector v of changes: zero but for its first size[0] entries and the places late[: size[1]].

    v : (n,).   late : (n,).   size : (2,) the length of the head and the number of places behind it.
    """

    v: Array
    late: Index
    size: Index


@inner_kernel
def nothing_moved(n: int) -> Moved:
    """v = 0 of n points."""
    return Moved(np.zeros(n), np.empty(n, dtype=np.int64), np.zeros(2, dtype=np.int64))


@inner_kernel
def find_head(moved: Moved, first: Index, second: Index, count: int, more: int) -> None:
    """Set the head and the late points of v, which is zero outside the `count` leading places of `first` and the `more` of `second`."""
    head = min(count, moved.v.shape[0])
    late = list_late(moved, first, second, count, more, head)
    if late > MOST_LATE * head:
        head, late = 0, list_late(moved, first, second, count, more, 0)
    moved.size[0], moved.size[1] = head, late


@inner_kernel
def list_late(moved: Moved, first: Index, second: Index, count: int, more: int, head: int) -> int:
    """List the places behind the head as late; returns their number."""
    late = 0
    for e in range(count + more):
        place = first[e] if e < count else second[e - count]
        if place >= head:
            moved.late[late] = place
            late += 1
    return late


@njit(cache=True)
def add_products(Q: Array, rows: Index, count: int, moved: Moved, m: Array) -> None:
    """m[i] += Q_i.v for the first `count` points i of `rows`."""
    head, late = moved.size[0], moved.size[1]
    if head == 0 and late > count:  # fewer rows than places: whole rows cost less than the rows of the places
        _add_head(Q, rows, count, moved.v, m)
    else:
        _add_head(Q, rows, count, moved.v[:head], m)
        _add_late(Q, rows, count, moved, m)


@njit(cache=True, fastmath=REORDER)
def _add_head(Q: Array, rows: Index, count: int, head: Array, m: Array) -> None:
    """m[i] += sum over c of Q_ic head[c] for the first `count` points i of `rows`, eight rows at a time, so that their reads overlap."""
    e = 0
    while e + 8 <= count:
        q0, q1, q2, q3 = Q[rows[e]], Q[rows[e + 1]], Q[rows[e + 2]], Q[rows[e + 3]]
        q4, q5, q6, q7 = Q[rows[e + 4]], Q[rows[e + 5]], Q[rows[e + 6]], Q[rows[e + 7]]
        t0 = t1 = t2 = t3 = t4 = t5 = t6 = t7 = 0.0
        for c in range(head.shape[0]):
            x = head[c]
            t0 += q0[c] * x
            t1 += q1[c] * x
            t2 += q2[c] * x
            t3 += q3[c] * x
            t4 += q4[c] * x
            t5 += q5[c] * x
            t6 += q6[c] * x
            t7 += q7[c] * x
        m[rows[e]] += t0
        m[rows[e + 1]] += t1
        m[rows[e + 2]] += t2
        m[rows[e + 3]] += t3
        m[rows[e + 4]] += t4
        m[rows[e + 5]] += t5
        m[rows[e + 6]] += t6
        m[rows[e + 7]] += t7
        e += 8
    while e < count:
        m[rows[e]] += dot(Q[rows[e]][: head.shape[0]], head)
        e += 1


@njit(cache=True, fastmath=REORDER)
def _add_late(Q: Array, rows: Index, count: int, moved: Moved, m: Array) -> None:
    """m[i] += sum over the late points c of Q_ic v_c.

    For points i behind the head the sum is formed from the rows Q_c, whose entries follow each other in memory, for all such i at once.
    """
    head, late, v = moved.size[0], moved.late[: moved.size[1]], moved.v
    behind = np.zeros(m.shape[0] - head)
    e = 0
    while e + 4 <= late.shape[0]:
        c0, c1, c2, c3 = late[e], late[e + 1], late[e + 2], late[e + 3]
        q0, q1, q2, q3 = Q[c0, head:], Q[c1, head:], Q[c2, head:], Q[c3, head:]
        x0, x1, x2, x3 = v[c0], v[c1], v[c2], v[c3]
        for i in range(behind.shape[0]):
            behind[i] += x0 * q0[i] + x1 * q1[i] + x2 * q2[i] + x3 * q3[i]
        e += 4
    for c in late[e:]:
        q0, x0 = Q[c, head:], v[c]
        for i in range(behind.shape[0]):
            behind[i] += x0 * q0[i]
    for e in range(count):
        i = rows[e]
        if i >= head:
            m[i] += behind[i - head]
        else:
            for c in late:
                m[i] += Q[i, c] * v[c]
