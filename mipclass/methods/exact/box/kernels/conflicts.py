"""Conflicts between two points on a box of weights, and pairs of them chosen greedily.

Points i and j conflict on the box when integers p, q > 0 make  max over the box of (p q_i + q q_j).V  at most 0: wherever V is in the
box, one of the two is wrong. Pairs that share no weight add to the bound.

A pair is (i, j, m, value): m stands for the multipliers (p, q), and the value is the weight that the pair uses of both points, 0 once
the pair is dissolved. Candidates are ranked by  f_v = max over the box of (q_u + q_v).V  in single precision; only `conflict`, which
computes in exact integers, decides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .....arrays import Array, Index
from .....kernels.decorator import njit
from .state import FIRST, KBITS, MIX, SECOND, VALUE, OpenBox, RoundedPoints

TOP = 64  # the larger of the two multipliers; m <= TOP stands for (TOP, m), a larger m for (2 TOP - m, TOP)

Singles = NDArray[np.float32]
Pairs = NDArray[np.int64]


@njit(cache=True, inline="always")
def multipliers(m: int) -> tuple[float, float]:
    """The multipliers (p, q) with index m, 1 <= m < 2 TOP; q/p grows with m."""
    if m <= TOP:
        return float(TOP), float(m)
    return float(2 * TOP - m), float(TOP)


@njit(cache=True)
def conflict(points: RoundedPoints, i: int, j: int, c: Array, h: Array) -> int:
    """An index m of multipliers with which i and j conflict on the box, or 0 when bisection finds none.

    f(m) = max over the box of (p q_i + q q_j).V is p times a convex function of q/p, so its slope tells on which side of m to search.
    """
    Q, err = points.Q, points.err
    r = Q.shape[1]
    unit = r * 2.0**KBITS
    low, high = 1, 2 * TOP - 1
    while low <= high:
        m = (low + high) // 2
        p, q = multipliers(m)
        f = (p * err[i] + q * err[j]) * unit
        slope = 0.0
        for k in range(r):
            t = p * Q[i, k] + q * Q[j, k]
            f += t * c[k] + abs(t) * h[k]
            if t > 0:
                slope += Q[j, k] * (c[k] + h[k])
            else:
                slope += Q[j, k] * (c[k] - h[k])
        if f <= 0:
            return m
        if slope < 0:
            low = m + 1
        else:
            high = m - 1
    return 0


@njit(cache=True)
def rank_neighbours(near_q: Singles, u: int, c: Array, h: Array, f: Singles) -> None:
    """f[v] = max over the box of (q_u + q_v).V, in single precision."""
    f[:] = 0.0
    for k in range(near_q.shape[0]):
        own, ck, hk, row = near_q[k, u], np.float32(c[k]), np.float32(h[k]), near_q[k]
        for v in range(f.shape[0]):
            t = own + row[v]
            f[v] += t * ck + abs(t) * hk


@njit(cache=True, inline="always")
def put(pairs: Pairs, x: int, i: int, j: int, m: int, value: int) -> None:
    """pairs[x] = (i, j, m, value)."""
    pairs[x, FIRST], pairs[x, SECOND], pairs[x, MIX], pairs[x, VALUE] = i, j, m, value


@njit(cache=True, inline="always")
def _add(left: Index, pairs: Pairs, n_pairs: int, i: int, j: int, m: int) -> int:
    """Append a pair that uses all the weight that is left of i or of j; its value."""
    value = min(left[i], left[j])
    left[i] -= value
    left[j] -= value
    put(pairs, n_pairs, i, j, m, value)
    return value


@njit(cache=True)
def release(point: int, left: Index, pairs: Pairs, n_pairs: int) -> int:
    """Dissolve the pairs that use the point; the sum of the values they had."""
    worth = 0
    for x in range(n_pairs):
        value = pairs[x, VALUE]
        if value > 0 and (pairs[x, FIRST] == point or pairs[x, SECOND] == point):
            left[pairs[x, FIRST]] += value
            left[pairs[x, SECOND]] += value
            pairs[x, VALUE] = 0
            worth += value
    return worth


@njit(cache=True)
def compact(pairs: Pairs, n_pairs: int, inherited: int) -> tuple[int, int]:
    """Close the gaps of dissolved pairs; (number of pairs, number of inherited ones, which stay in front)."""
    kept = 0
    kept_inherited = 0
    for x in range(n_pairs):
        if pairs[x, VALUE] > 0:
            for t in range(4):
                pairs[kept, t] = pairs[x, t]
            kept += 1
            if x < inherited:
                kept_inherited += 1
    return kept, kept_inherited


@njit(cache=True)
def inherit(above: Pairs, left: Index, pairs: Pairs) -> tuple[int, int]:
    """Take over the pairs of the box above whose points are both uncertain; (number of pairs, sum of their values)."""
    kept, worth = 0, 0
    for x in range(above.shape[0]):
        if left[above[x, FIRST]] > 0 and left[above[x, SECOND]] > 0:
            for t in range(4):
                pairs[kept, t] = above[x, t]
            kept += 1
            worth += above[x, VALUE]
    for x in range(kept):
        left[pairs[x, FIRST]] -= pairs[x, VALUE]
        left[pairs[x, SECOND]] -= pairs[x, VALUE]
    return kept, worth


@njit(cache=True, inline="always")
def _is_spoken_for(point: int, left: Index, pairs: Pairs, first: int, n_pairs: int) -> bool:
    """Whether a point is used up and one of the pairs from `first` on uses it."""
    found = False
    if left[point] == 0:
        for x in range(first, n_pairs):
            found |= pairs[x, FIRST] == point or pairs[x, SECOND] == point
    return found


@njit(cache=True)
def replay(made: NDArray[np.int32], left: Index, pairs: Pairs, n_pairs: int) -> tuple[int, int, int]:
    """Add the pairs that an earlier tree made on this box after n_pairs inherited ones; each releases points that are used up.

    A pair that would release another one of `made` is left out: the tree says nothing of a pair that was released, so whoever reads the
    tree would count the pairs in between with other values. (Inherited pairs that use more weight than before bring this about.)

    Returns (number of pairs, number of inherited ones, increase of the sum of all values).
    """
    inherited, gain, first = n_pairs, 0, n_pairs
    for x in range(made.shape[0]):
        i, j = made[x, FIRST], made[x, SECOND]
        if _is_spoken_for(i, left, pairs, first, n_pairs) or _is_spoken_for(j, left, pairs, first, n_pairs):
            continue
        if left[i] == 0:
            gain -= release(i, left, pairs, first)
        if left[j] == 0:
            gain -= release(j, left, pairs, first)
        gain += _add(left, pairs, n_pairs, i, j, made[x, MIX])
        n_pairs += 1
    n_pairs, inherited = compact(pairs, n_pairs, inherited)
    return n_pairs, inherited, gain


@njit(cache=True, inline="always")
def _roots(box: OpenBox) -> tuple[Index, Index]:
    """(Members with weight left that are wrong at the centre, their order by decreasing a + s, the most that their score can be)."""
    members, left, a, s = box.members, box.left, box.a, box.s
    count = members.shape[0]
    starts = np.empty(count, np.int64)
    least = np.empty(count)
    n_starts = 0
    for u in range(count):
        if left[members[u]] > 0 and a[u] <= 0:
            starts[n_starts] = u
            least[n_starts] = -(a[u] + s[u])
            n_starts += 1
    return starts, np.argsort(least[:n_starts])


@njit(cache=True, inline="always")
def _weakest(f: Singles, u: int, members: NDArray[np.int32], left: Index) -> int:
    """The member v other than u with weight left and the largest f_v <= 0, or -1."""
    best = -1
    for v in range(f.shape[0]):
        if f[v] <= 0 and (best < 0 or f[v] > f[best]) and left[members[v]] > 0 and v != u:
            best = v
    return best


@njit(cache=True, inline="always")
def pair_greedily(
    points: RoundedPoints, box: OpenBox, near_q: Singles, n_pairs: int, most_new: int, need: int
) -> tuple[int, int, int]:
    """Add at most `most_new` pairs until their value reaches `need`; (number of pairs, what is still needed, scans of neighbours).

    One point of each conflict is wrong at the centre, so the search starts from those, and from the ones with fewest conflicts first.
    Of the conflicts of a point it takes the weakest: a point in a strong conflict has many others to choose from.
    """
    c, h, members, left, pairs = box.centre, box.half, box.members, box.left, box.pairs
    f = np.empty(members.shape[0], np.float32)
    scans = 0
    starts, order = _roots(box)
    for x in order:
        if need <= 0 or most_new <= 0 or n_pairs >= pairs.shape[0]:
            break
        u = starts[x]
        i = members[u]
        if left[i] <= 0:
            continue
        rank_neighbours(near_q, u, c, h, f)
        scans += 1
        v = _weakest(f, u, members, left)
        if v < 0:
            continue
        j = members[v]
        m = conflict(points, i, j, c, h)
        if m > 0:
            need -= _add(left, pairs, n_pairs, i, j, m)
            n_pairs += 1
            most_new -= 1
    return n_pairs, need, scans
