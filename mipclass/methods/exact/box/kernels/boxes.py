"""Boxes on the faces of a cube: halving them, and which points are decided on them.

A box is a centre c and half-widths h, integers in units of 2^-KBITS, on a face |V_f| = 2^KBITS of the cube. With

    a_i = Q_i.c,   s_i = sum_k |Q_ik| h_k,   e_i = err_i * r * 2^KBITS

every V in the box has  q_i.V  in  [a_i - s_i - e_i, a_i + s_i + e_i],  where q_i is the true direction that Q_i rounds. All sums stay
below 2^53, so float64 holds them exactly.

* a_i + s_i + e_i <= 0:  point i is wrong all over the box ("lost");
* a_i - s_i >= 0:        it is dropped: it counts as right, which can only weaken the bound;
* otherwise it is uncertain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .....arrays import Array, Index
from .....kernels.decorator import njit
from .state import KBITS, Boxes, Path, RoundedPoints


class Scratch(NamedTuple):
    """Arrays that a visit of a box overwrites."""

    a: Array  # (n,), Q.c of the members
    s: Array  # (n,), |Q|.h of the members
    keep: Index  # (n,), where each member stands among the members of the box above
    left: Index  # (n,), weight of each point that no pair uses yet
    spread: Array  # (r,), sum of |Q_ik| over the members


@njit(cache=True, inline="always")
def new_scratch(n: int, r: int) -> Scratch:
    """Room for n points in r coordinates."""
    return Scratch(np.empty(n), np.empty(n), np.empty(n, np.int64), np.zeros(n, np.int64), np.empty(r))


@njit(cache=True)
def copy_box(boxes: Boxes, number: int, c: Array, h: Array) -> None:
    """Centre and half-widths of one of the boxes."""
    # A loop, since numba compiles an assignment of arrays together with all of its error messages.
    for j in range(c.shape[0]):
        c[j], h[j] = boxes.centre[number, j], boxes.half[number, j]


@njit(cache=True)
def set_half(centre: Array, half: Array, depth: int, k: int, upper: bool) -> None:
    """Write at depth + 1 the lower or upper half in coordinate k of the box at `depth`."""
    child = depth + 1
    for t in range(centre.shape[1]):
        centre[child, t] = centre[depth, t]
        half[child, t] = half[depth, t]
    half[child, k] = half[depth, k] * 0.5
    centre[child, k] += half[child, k] if upper else -half[child, k]


@njit(cache=True)
def widest(h: Array, spread: Array) -> int:
    """The coordinate k with the largest h_k sum_i |Q_ik| that can still be halved, or -1 when there is none."""
    best, found = 0.0, -1
    for k in range(h.shape[0]):
        if h[k] > 1.0 and spread[k] * h[k] > best:
            best = spread[k] * h[k]
            found = k
    return found


@njit(cache=True)
def _evaluate(q: Array, n: int, c: Array, h: Array, a: Array, s: Array) -> None:
    """a = q.c and s = |q|.h for the first n columns of q."""
    for u in range(n):
        a[u] = 0.0
        s[u] = 0.0
    for k in range(c.shape[0]):
        ck, hk, row = c[k], h[k], q[k]
        for u in range(n):
            a[u] += row[u] * ck
            s[u] += abs(row[u]) * hk


@njit(cache=True)
def _copy_members(q: Array, keep: Index, own_q: Array, spread: Array) -> None:
    """Copy the columns `keep` of q to the front of own_q (which may be q itself) and sum their absolute values per coordinate."""
    for k in range(q.shape[0]):
        row, own_row = q[k], own_q[k]
        total = 0.0
        for u in range(keep.shape[0]):
            own_row[u] = row[keep[u]]
            total += abs(own_row[u])
        spread[k] = total


@njit(cache=True)
def classify(points: RoundedPoints, path: Path, depth: int, above: int, scratch: Scratch) -> tuple[int, int, int]:
    """Decide on the box at `depth` the points that are uncertain on the box at `above`.

    Returns (number of members, that is of points still uncertain; weight of the points lost here; weight of those wrong at the centre).
    The members are listed in `path`, with a, s, left (their whole weight) and spread in `scratch`. At the root above = depth: the
    members then move to the front of the same arrays.
    """
    err, weights, lost = points.err, points.weights, path.lost
    a, s, keep, left = scratch.a, scratch.s, scratch.keep, scratch.left
    n = path.n_members[above]
    candidates, members = path.members[above], path.members[depth]
    _evaluate(path.q[above], n, path.centre[depth], path.half[depth], a, s)
    unit = points.Q.shape[1] * float(1 << KBITS)
    count, newly_lost, wrong_at_centre = 0, 0, 0
    for u in range(n):
        i = candidates[u]
        left[i] = 0
        slack = err[i] * unit
        # Points that were decided further up are no candidates here, so their marks still hold.
        lost[i] = a[u] + s[u] + slack <= 0
        if lost[i]:
            newly_lost += weights[i]
            wrong_at_centre += weights[i]
        elif a[u] - s[u] < 0:
            if a[u] <= slack:
                wrong_at_centre += weights[i]
            a[count] = a[u]
            s[count] = s[u]
            members[count] = i
            keep[count] = u
            count += 1
            left[i] = weights[i]
    _copy_members(path.q[above], keep[:count], path.q[depth], scratch.spread)
    path.n_members[depth] = count
    return count, newly_lost, wrong_at_centre
