"""Disjoint conflicts between points on a box of weights (see `box`): greedy pairs, then augmenting paths.

Points i and j conflict on the box when whole numbers p, q > 0 make  max over the box of (p q_i + q q_j).V  at most 0. A set of pairs
that share no point is a matching in the graph of conflicts; each pair holds at least one wrong point, so the largest matching gives
the best bound of this kind, and by Koenig's theorem often the best that conflicts give at all.
"""

from __future__ import annotations

import numpy as np
from numba import njit

ATTEMPTS = 3  # partners tried for a point in the greedy pass
NEIGHBOURS = 16  # and on an augmenting path
GRID = 128  # conflict multipliers: m <= 64 means (64, m), above (128 - m, 64)


@njit(cache=True, inline="always")
def _multipliers(m: int) -> tuple[float, float]:
    if m <= 64:
        return 64.0, float(m)
    return float(GRID - m), 64.0


@njit(cache=True)
def conflict(Q: np.ndarray, err: np.ndarray, i: int, j: int, c: np.ndarray, h: np.ndarray, unit: float) -> int:
    """The grid index m at which i and j conflict on the box, or 0.

    f(m) = max over the box of (p q_i + q q_j).V is p times a convex function of q/p, so the side to search is told by the slope.
    """
    r = Q.shape[1]
    low, high = 1, GRID - 1
    while low <= high:
        m = (low + high) // 2
        p, q = _multipliers(m)
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
def pair_up(
    Q: np.ndarray,
    err: np.ndarray,
    c: np.ndarray,
    h: np.ndarray,
    unit: float,
    q: np.ndarray,
    points: np.ndarray,
    n_points: int,
    a: np.ndarray,
    s: np.ndarray,
    left: np.ndarray,
    need: int,
    pairs: np.ndarray,
    n_pairs: int,
    max_new: int,
) -> tuple[int, int]:
    """Greedily add conflicts until `need` is met; (number of pairs now, what is still needed).

    Of each conflict one point is wrong at the centre, so the search starts from those, the hardest to keep wrong first; the partners
    tried are the few that are most wrong at the vertex where the point fares best (a necessary condition is to be wrong there).
    """
    r = Q.shape[1]
    free = np.empty(n_points, np.int64)
    n_free = 0
    starts = np.empty(n_points, np.int64)
    hardness = np.empty(n_points)
    n_starts = 0
    for u in range(n_points):
        if left[points[u]] > 0:
            if a[u] <= 0:
                starts[n_starts] = n_free
                hardness[n_starts] = -(a[u] + s[u])
                n_starts += 1
            free[n_free] = u
            n_free += 1
    # Single precision is enough to rank partners; it halves the work.
    near_q = np.empty((r, n_free), np.float32)
    for k in range(r):
        row, near_row = q[k], near_q[k]
        for v in range(n_free):
            near_row[v] = row[free[v]]
    g = np.empty(n_free, np.float32)
    order = np.argsort(hardness[:n_starts])
    near = np.empty(ATTEMPTS, np.int64)
    added = 0
    for x in range(n_starts):
        u = starts[order[x]]
        i = points[free[u]]
        if left[i] <= 0:
            continue
        for v in range(n_free):
            g[v] = 0.0
        for k in range(r):
            corner = np.float32(c[k] + h[k] if Q[i, k] > 0 else c[k] - h[k])
            row = near_q[k]
            for v in range(n_free):
                g[v] += row[v] * corner
        n_near = 0
        worst = np.float32(0.0)
        for v in range(n_free):
            if g[v] >= worst or left[points[free[v]]] <= 0 or v == u:
                continue
            y = n_near if n_near < ATTEMPTS else ATTEMPTS - 1
            while y > 0 and g[near[y - 1]] > g[v]:
                near[y] = near[y - 1]
                y -= 1
            near[y] = v
            if n_near < ATTEMPTS:
                n_near += 1
            if n_near == ATTEMPTS:
                worst = g[near[ATTEMPTS - 1]]
        for y in range(n_near):
            j = points[free[near[y]]]
            m = conflict(Q, err, i, j, c, h, unit)
            if m == 0:
                continue
            value = min(left[i], left[j])
            left[i] -= value
            left[j] -= value
            need -= value
            pairs[n_pairs, 0] = i
            pairs[n_pairs, 1] = j
            pairs[n_pairs, 2] = m
            pairs[n_pairs, 3] = value
            n_pairs += 1
            added += 1
            if need <= 0 or added >= max_new or n_pairs >= pairs.shape[0]:
                return n_pairs, need
            if left[i] <= 0:
                break
    return n_pairs, need


@njit(cache=True)
def release(point: int, left: np.ndarray, pairs: np.ndarray, n_pairs: int) -> int:
    """Dissolve the pairs that hold the point (their value becomes 0); what they were worth."""
    worth = 0
    for x in range(n_pairs):
        value = pairs[x, 3]
        if value > 0 and (pairs[x, 0] == point or pairs[x, 1] == point):
            left[pairs[x, 0]] += value
            left[pairs[x, 1]] += value
            pairs[x, 3] = 0
            worth += value
    return worth


@njit(cache=True)
def compact(pairs: np.ndarray, n_pairs: int, inherited: int) -> tuple[int, int]:
    """Close the gaps that dissolved pairs left; (number of pairs, how many of them are inherited)."""
    kept = 0
    kept_inherited = 0
    for x in range(n_pairs):
        if pairs[x, 3] > 0:
            for t in range(4):
                pairs[kept, t] = pairs[x, t]
            kept += 1
            if x < inherited:
                kept_inherited += 1
    return kept, kept_inherited


@njit(cache=True)
def augment(
    Q: np.ndarray,
    err: np.ndarray,
    weights: np.ndarray,
    c: np.ndarray,
    h: np.ndarray,
    unit: float,
    q: np.ndarray,
    points: np.ndarray,
    n_points: int,
    a: np.ndarray,
    left: np.ndarray,
    need: int,
    pairs: np.ndarray,
    n_pairs: int,
    inherited: int,
    most_new: int,
    scans: int,
) -> tuple[int, int, int]:
    """Enlarge the matching along alternating paths until `need` is met; (pairs, inherited ones among them, what is still needed).

    From a point without a pair a tree of alternating paths grows: conflict, pair, conflict, pair, ..., until it meets another free
    point. Odd cycles are not shrunk, so now and then a path is missed. Only points of weight one take part. At most `scans` points
    are asked for their neighbours, and at most `most_new` pairs are new in the end.
    """
    n, r = Q.shape
    place = np.empty(n, np.int64)
    mate = np.full(n_points, -1, np.int64)
    holder = np.full(n_points, -1, np.int64)
    usable = np.zeros(n_points, np.bool_)
    for u in range(n_points):
        place[points[u]] = u
        usable[u] = weights[points[u]] == 1 and left[points[u]] == 1
    for x in range(n_pairs):
        i, j = pairs[x, 0], pairs[x, 1]
        if weights[i] == 1 and weights[j] == 1:
            u, v = place[i], place[j]
            mate[u], mate[v] = v, u
            holder[u] = holder[v] = x
            usable[u] = usable[v] = True
    near_q = np.empty((r, n_points), np.float32)
    for k in range(r):
        row, near_row = q[k], near_q[k]
        for v in range(n_points):
            near_row[v] = row[v]
    f = np.empty(n_points, np.float32)
    parent = np.empty(n_points, np.int64)
    mix = np.empty(n_points, np.int64)
    queue = np.empty(n_points, np.int64)
    in_tree = np.empty(n_points, np.bool_)
    near = np.empty(NEIGHBOURS, np.int64)
    fresh = n_pairs - inherited
    progress = True
    while progress and need > 0:
        progress = False
        in_tree[:] = False
        for root in range(n_points):
            if mate[root] >= 0 or not usable[root] or in_tree[root] or a[root] > 0:
                continue
            head, tail, found = 0, 1, -1
            queue[0] = root
            in_tree[root] = True
            while head < tail and found < 0:
                u = queue[head]
                head += 1
                if scans <= 0:
                    n_pairs, inherited = compact(pairs, n_pairs, inherited)
                    return n_pairs, inherited, need
                scans -= 1
                for v in range(n_points):
                    f[v] = 0.0
                for k in range(r):
                    own, ck, hk, row = near_q[k, u], np.float32(c[k]), np.float32(h[k]), near_q[k]
                    for v in range(n_points):
                        t = own + row[v]
                        f[v] += t * ck + abs(t) * hk
                n_near = 0
                worst = np.float32(np.inf)
                for v in range(n_points):
                    if f[v] >= worst or in_tree[v] or not usable[v]:
                        continue
                    y = n_near if n_near < NEIGHBOURS else NEIGHBOURS - 1
                    while y > 0 and f[near[y - 1]] > f[v]:
                        near[y] = near[y - 1]
                        y -= 1
                    near[y] = v
                    if n_near < NEIGHBOURS:
                        n_near += 1
                    if n_near == NEIGHBOURS:
                        worst = f[near[NEIGHBOURS - 1]]
                for y in range(n_near):
                    v = near[y]
                    if in_tree[v]:
                        continue  # the mate of one before
                    m = conflict(Q, err, points[u], points[v], c, h, unit)
                    if m == 0:
                        continue
                    in_tree[v] = True
                    parent[v] = u
                    mix[v] = m
                    if mate[v] < 0:
                        found = v
                        break
                    in_tree[mate[v]] = True
                    queue[tail] = mate[v]
                    tail += 1
            if found < 0:
                continue
            added = 1
            v = found
            while parent[v] != root:
                v = mate[parent[v]]
                if holder[v] < inherited:
                    added += 1
            if fresh + added > most_new or n_pairs + added > pairs.shape[0]:
                n_pairs, inherited = compact(pairs, n_pairs, inherited)
                return n_pairs, inherited, need
            fresh += added
            left[points[root]] = 0
            left[points[found]] = 0
            v = found
            while True:
                u = parent[v]
                before, x = mate[u], holder[u]
                if before < 0 or x < inherited:
                    if before >= 0:
                        pairs[x, 3] = 0
                    x = n_pairs
                    n_pairs += 1
                pairs[x, 0], pairs[x, 1], pairs[x, 2], pairs[x, 3] = points[u], points[v], mix[v], 1
                mate[u], mate[v] = v, u
                holder[u] = holder[v] = x
                if u == root:
                    break
                v = before
            need -= 1
            progress = True
            if need <= 0:
                break
    n_pairs, inherited = compact(pairs, n_pairs, inherited)
    return n_pairs, inherited, need
