"""A Cholesky factor that grows and shrinks by a few indices: Q_AA = U'U with U stored by rows.

Row c of U is column c of the lower factor, so that every inner loop (elimination, dot product, plane rotation) runs along
contiguous memory. Only U[c, c:k] is meaningful. All functions work in place and cost O(k^2) for each index or right side;
k is the present size.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array, Index
from ..kernels.decorator import njit

# Sums may be reordered (this is what lets the compiler vectorise a dot product); nothing else is relaxed.
REORDER = {"reassoc", "contract"}


# The inner loops run from 0 over slices: only then does numba drop the test for negative indices and use wide registers.
# Making a slice costs as much as a few dozen operations, so short rows (up to SMALL) are indexed directly. Longer ones are taken four
# at a time, which spares three of four passes over the right side.
SMALL = 40


@njit(cache=True, fastmath=REORDER)
def dot(x: Array, y: Array) -> float:
    """x.y; the terms may be summed in any order."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@njit(cache=True, fastmath=REORDER)
def subtract(factor: float, x: Array, y: Array) -> None:
    """y <- y - factor x."""
    for i in range(x.shape[0]):
        y[i] -= factor * x[i]


@njit(cache=True)
def shift(x: Array, y: Array) -> None:
    """y <- x, where y may overlap x from the left."""
    for i in range(x.shape[0]):
        y[i] = x[i]


@njit(cache=True, fastmath=REORDER)
def rotate(cosine: float, sine: float, x: Array, y: Array) -> None:
    """(x, y) <- (cosine x + sine y, cosine y - sine x)."""
    for i in range(x.shape[0]):
        u = x[i]
        v = y[i]
        x[i] = cosine * u + sine * v
        y[i] = cosine * v - sine * u


@njit(cache=True, fastmath=REORDER)
def subtract_four(x: Array, c: int, U: Array, k: int, y: Array) -> None:
    """y <- y - sum over e < 4 of x[c + e] U[c + e, c + 4 : k]: rows c to c + 3 of U in one pass over y."""
    x0, x1, x2, x3 = x[c], x[c + 1], x[c + 2], x[c + 3]
    r0, r1, r2, r3 = U[c, c + 4 : k], U[c + 1, c + 4 : k], U[c + 2, c + 4 : k], U[c + 3, c + 4 : k]
    for i in range(y.shape[0]):
        y[i] -= x0 * r0[i] + x1 * r1[i] + x2 * r2[i] + x3 * r3[i]


@njit(cache=True, fastmath=REORDER)
def eliminate_four(U: Array, c: int, k: int, b: Array) -> None:
    """Rows c to c + 3 of b <- inv(U') b."""
    for e in range(4):
        total = b[c + e]
        for f in range(e):
            total -= U[c + f, c + e] * b[c + f]
        b[c + e] = total / U[c + e, c + e]
    subtract_four(b, c, U, k, b[c + 4 : k])


@njit(cache=True, fastmath=REORDER)
def solve_lower(U: Array, k: int, b: Array) -> None:
    """b <- inv(U') b."""
    if k <= SMALL:
        for c in range(k):
            x = b[c] / U[c, c]
            b[c] = x
            for i in range(c + 1, k):
                b[i] -= x * U[c, i]
        return
    c = 0
    while c + 4 <= k:
        eliminate_four(U, c, k, b)
        c += 4
    for r in range(c, k):
        b[r] /= U[r, r]
        subtract(b[r], U[r, r + 1 : k], b[r + 1 : k])


@njit(cache=True, fastmath=REORDER)
def solve_upper(U: Array, k: int, b: Array) -> None:
    """b <- inv(U) b."""
    if k <= SMALL:
        for c in range(k - 1, -1, -1):
            total = b[c]
            for i in range(c + 1, k):
                total -= U[c, i] * b[i]
            b[c] = total / U[c, c]
        return
    c = k
    while c >= 4:
        c -= 4
        r0, r1, r2, r3 = U[c, c + 4 : k], U[c + 1, c + 4 : k], U[c + 2, c + 4 : k], U[c + 3, c + 4 : k]
        rest = b[c + 4 : k]
        t0, t1, t2, t3 = b[c], b[c + 1], b[c + 2], b[c + 3]
        for i in range(rest.shape[0]):
            x = rest[i]
            t0 -= r0[i] * x
            t1 -= r1[i] * x
            t2 -= r2[i] * x
            t3 -= r3[i] * x
        x3 = t3 / U[c + 3, c + 3]
        x2 = (t2 - U[c + 2, c + 3] * x3) / U[c + 2, c + 2]
        x1 = (t1 - U[c + 1, c + 3] * x3 - U[c + 1, c + 2] * x2) / U[c + 1, c + 1]
        b[c] = (t0 - U[c, c + 3] * x3 - U[c, c + 2] * x2 - U[c, c + 1] * x1) / U[c, c]
        b[c + 1], b[c + 2], b[c + 3] = x1, x2, x3
    for r in range(c - 1, -1, -1):
        b[r] = (b[r] - dot(U[r, r + 1 : k], b[r + 1 : k])) / U[r, r]


@njit(cache=True, fastmath=REORDER)
def append(U: Array, k: int, columns: Array, corner: Array, floor: Array) -> float:
    """Add q indices at the end: columns[e, :k] = Q_{A,e} and corner = their own (q, q) block. Both are overwritten.

    Returns the smallest ratio of a Schur complement to its floor. A complement below its floor is rounding of a dependent
    index and is raised to the floor. All q columns are eliminated while four rows of U are in the cache.
    """
    q = columns.shape[0]
    c = 0
    while c + 4 <= k:
        for e in range(q):
            eliminate_four(U, c, k, columns[e])
        c += 4
    for e in range(q):
        column = columns[e]
        for r in range(c, k):
            column[r] /= U[r, r]
            subtract(column[r], U[r, r + 1 : k], column[r + 1 : k])
    for r in range(k):
        for e in range(q):
            U[r, k + e] = columns[e, r]
    smallest = np.inf
    for e in range(q):
        for f in range(e, q):
            corner[e, f] -= dot(columns[e, :k], columns[f, :k])
    for e in range(q):
        complement = corner[e, e]
        smallest = min(smallest, complement / floor[e])
        pivot = np.sqrt(max(complement, floor[e]))
        U[k + e, k + e] = pivot
        for f in range(e + 1, q):
            U[k + e, k + f] = corner[e, f] / pivot
        for f in range(e + 1, q):
            for g in range(f, q):
                corner[f, g] -= U[k + e, k + f] * U[k + e, k + g]
    return smallest


@njit(cache=True, fastmath=REORDER)
def delete(U: Array, k: int, removed: Index, spare: Array) -> None:
    """Remove the positions in `removed` (ascending): later rows move up, and plane rotations fold the removed rows into them.

    `spare` is (q, >= k) scratch for the removed rows. All q rotations of a row are done while it is in the cache.
    """
    q = removed.shape[0]
    size = k - q
    gone = 0
    for c in range(k):
        row = U[c]
        if gone < q and removed[gone] == c:
            # Keep the part of this row behind c, with the removed columns closed up.
            to = c - gone
            e = gone + 1
            for i in range(c + 1, k):
                if e < q and removed[e] == i:
                    e += 1
                else:
                    spare[gone, to] = row[i]
                    to += 1
            gone += 1
            continue
        target = U[c - gone]
        to = c - gone
        start = c
        for e in range(gone, q + 1):
            stop = removed[e] if e < q else k
            shift(row[start:stop], target[to : to + stop - start])
            to += stop - start
            start = stop + 1
        first = c - gone
        for e in range(gone):
            x = spare[e, first]
            if x == 0.0:
                continue
            radius = np.hypot(target[first], x)
            cosine = target[first] / radius
            sine = x / radius
            target[first] = radius
            rotate(cosine, sine, target[first + 1 : size], spare[e, first + 1 : size])
