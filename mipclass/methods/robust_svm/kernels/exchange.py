"""Points leave the factor Q_AA = U'U and others join it; the forward solve of the next system is updated with the factor.

After a solve all active margins are at their levels. When the points e of a set L then leave, with their multipliers changed by d_e, the
margins of the remaining points R change by sum_e d_e Q_Re, and the multipliers of R have to undo this:

    Q_RR x = -sum_e d_e Q_Re,        where Q_Re = U_R' U_e with the columns U_R and U_e of U.

Let G be the rotations that take L out of the factor, G U_R = [U_new; 0], and h = -sum_e d_e U_e. Then U_new' (G h) is the right side, so
that the first rows of G h are its forward solve inv(U_new') rhs: one more column in the rotations replaces an O(k^2) solve. A point that
joins adds one entry. Each point that leaves or joins costs O(k^2) with k active points, as in `mipclass.numeric.cholesky_update`.
"""

from __future__ import annotations

import numpy as np

from ....arrays import Array, Index
from ....kernels.decorator import njit
from ....numeric.cholesky_update import REORDER, dot, rotate, shift, solve_lower, subtract
from .active_set import PIVOT, ActiveSet, add_members, close_members, new_columns, take_places
from .compiled import inner_kernel


@inner_kernel
def leave_carrying(active_set: ActiveSet, old: Index, change: Array, h: Array, spare: Array) -> None:
    """Take the points `old`, whose multipliers have been changed by `change`, out of the active set, and update the forward solve h."""
    U, k = active_set.U, active_set.size[0]
    for e in range(old.shape[0]):
        place, x = active_set.position[old[e]], change[e]
        for c in range(place + 1):
            h[c] -= x * U[c, place]
    removed = take_places(active_set, old)
    take_out(U, k, removed, h, spare)
    close_members(active_set, removed)


@inner_kernel
def join_carrying(
    Q: Array, diagonal: Array, active_set: ActiveSet, new: Index, right: Array, h: Array, spare: Array
) -> float:
    """Put the points `new`, for which `right` is the right side, into the active set, and extend the forward solve h by them.

    Returns their smallest Schur complement relative to Q_jj.
    """
    k = active_set.size[0]
    corner, floor = new_columns(Q, diagonal, active_set, new, spare)
    for e in range(new.shape[0]):
        h[k + e] = right[e]
    smallest = put_in(active_set.U, k, spare, corner, floor, h)
    add_members(active_set, new)
    return smallest * PIVOT


@njit(cache=True, fastmath=REORDER)
def rotate_two(angles: Array, e: int, x: Array, y: Array, z: Array) -> None:
    """Rotate (x, y) by the cosine and sine of number e and then (x, z) by the next ones, in one pass over x."""
    c0, s0, c1, s1 = angles[e, 0], angles[e, 1], angles[e + 1, 0], angles[e + 1, 1]
    for i in range(x.shape[0]):
        t, u, v = x[i], y[i], z[i]
        y[i] = c0 * u - s0 * t
        t = c0 * t + s0 * u
        z[i] = c1 * v - s1 * t
        x[i] = c1 * t + s1 * v


@inner_kernel
def turn(row: Array, spare: Array, gone: int, at: int, angles: Array, h: Array, kept: Array) -> None:
    """Compute the rotations that turn the entries spare[:gone, at] into row[at], one after the other: cosines and sines, into `angles`.

    They are applied to row[at] and to the right side h, whose entries for the removed rows are in `kept`. The squared radii are cumulative
    sums, so that the processor can overlap the square roots.
    """
    square, before = row[at] * row[at], row[at]
    for e in range(gone):
        x = spare[e, at]
        square += x * x
        radius = np.sqrt(square)
        angles[e, 0], angles[e, 1] = before / radius, x / radius
        before = radius
    row[at] = before
    y = h[at]
    for e in range(gone):
        cosine, sine = angles[e, 0], angles[e, 1]
        y, kept[e] = cosine * y + sine * kept[e], cosine * kept[e] - sine * y
    h[at] = y


@inner_kernel
def close_up(row: Array, c: int, k: int, removed: Index, gone: int, target: Array) -> None:
    """target <- the entries of `row` from column c on, without the removed columns, of which `gone` lie before c."""
    to, start = c - gone, c
    for e in range(gone, removed.shape[0] + 1):
        stop = removed[e] if e < removed.shape[0] else k
        shift(row[start:stop], target[to : to + stop - start])
        to += stop - start
        start = stop + 1


@njit(cache=True, fastmath=REORDER)
def take_out(U: Array, k: int, removed: Index, h: Array, spare: Array) -> None:
    """Remove the positions in `removed` (ascending) from the factor and from h, which is rotated with it.

    `spare` is (len(removed), >= k) scratch for the removed rows. All rotations of a row are applied while it is in the cache, two at a time.
    """
    size, gone = k - removed.shape[0], 0
    kept, angles = np.empty(removed.shape[0]), np.empty((removed.shape[0], 2))
    for c in range(removed[0]):
        close_up(U[c], removed[0] + 1, k, removed, 1, U[c])
    for c in range(removed[0], k):
        first = c - gone
        if gone < removed.shape[0] and removed[gone] == c:
            kept[gone] = h[c]
            gone += 1
            close_up(U[c], c + 1, k, removed, gone, spare[gone - 1])
            continue
        target = U[first]
        close_up(U[c], c, k, removed, gone, target)
        h[first] = h[c]
        turn(target, spare, gone, first, angles, h, kept)
        behind = target[first + 1 : size]
        for e in range(0, gone - 1, 2):
            rotate_two(angles, e, behind, spare[e, first + 1 : size], spare[e + 1, first + 1 : size])
        if gone % 2:
            rotate(angles[gone - 1, 0], angles[gone - 1, 1], behind, spare[gone - 1, first + 1 : size])


@njit(cache=True, fastmath=REORDER)
def eliminate_three(U: Array, c: int, k: int, x: Array, y: Array) -> None:
    """Rows c to c + 2 of (x, y) <- inv(U') (x, y)."""
    for e in range(3):
        s, t = x[c + e], y[c + e]
        for f in range(e):
            s -= U[c + f, c + e] * x[c + f]
            t -= U[c + f, c + e] * y[c + f]
        x[c + e], y[c + e] = s / U[c + e, c + e], t / U[c + e, c + e]
    r0, r1, r2 = U[c, c + 3 : k], U[c + 1, c + 3 : k], U[c + 2, c + 3 : k]
    x0, x1, x2 = x[c], x[c + 1], x[c + 2]
    y0, y1, y2 = y[c], y[c + 1], y[c + 2]
    u, v = x[c + 3 : k], y[c + 3 : k]
    # Three rows and two columns take seven tests for overlapping memory; with a fourth row they would be nine, more than the eight up to
    # which LLVM vectorises a loop (a third slower, k = 520).
    for i in range(u.shape[0]):
        u[i] -= x0 * r0[i] + x1 * r1[i] + x2 * r2[i]
        v[i] -= y0 * r0[i] + y1 * r1[i] + y2 * r2[i]


@njit(cache=True, fastmath=REORDER)
def eliminate(U: Array, k: int, columns: Array) -> None:
    """Each row x of `columns` <- inv(U') x, two at a time while three rows of U are in the cache; their number is even."""
    c = 0
    while c + 3 <= k:
        for e in range(0, columns.shape[0], 2):
            eliminate_three(U, c, k, columns[e], columns[e + 1])
        c += 3
    for e in range(columns.shape[0]):
        column = columns[e]
        for r in range(c, k):
            column[r] /= U[r, r]
            subtract(column[r], U[r, r + 1 : k], column[r + 1 : k])


@njit(cache=True, fastmath=REORDER)
def put_in(U: Array, k: int, columns: Array, corner: Array, floor: Array, h: Array) -> float:
    """Add q indices at the end: columns[e, :k] = Q_{A,e}, and corner is their own (q, q) block; if q is odd, row q of `columns` is scratch.

    h[:k] is the forward solve of the indices before; h[k : k + q] holds the right side of the new ones and is solved here. Returns the smallest
    ratio of a Schur complement to its floor. A complement below its floor is rounding of a dependent index and is raised to the floor.
    """
    q = corner.shape[0]
    if q == 1:
        solve_lower(U, k, columns[0, :k])
    else:
        eliminate(U, k, columns[: q + q % 2])
    for r in range(k):
        for e in range(q):
            U[r, k + e] = columns[e, r]
    smallest = np.inf
    for e in range(q):
        h[k + e] -= dot(columns[e, :k], h[:k])
        for f in range(e, q):
            corner[e, f] -= dot(columns[e, :k], columns[f, :k])
    for e in range(q):
        smallest = min(smallest, corner[e, e] / floor[e])
        pivot = np.sqrt(max(corner[e, e], floor[e]))
        U[k + e, k + e] = pivot
        h[k + e] /= pivot
        for f in range(e + 1, q):
            U[k + e, k + f] = corner[e, f] / pivot
            h[k + f] -= U[k + e, k + f] * h[k + e]
        for f in range(e + 1, q):
            for g in range(f, q):
                corner[f, g] -= U[k + e, k + f] * U[k + e, k + g]
    return smallest
