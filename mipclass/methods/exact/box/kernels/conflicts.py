"""Disjoint conflicts between points on a box of weights (see `box`): greedy pairs, then alternating paths.

Points i and j conflict on the box when whole numbers p, q > 0 make  max over the box of (p q_i + q q_j).V  at most 0. Pairs that share
no point are a matching in the graph of conflicts. One of each pair is wrong, so the largest matching gives the best bound; it was
found to equal the least cover of all conflicts nearly always, and to exceed a greedy one by up to a third on large boxes.

Neighbours are ranked by  f_v = max over the box of (q_u + q_v).V  in single precision; what decides is `conflict`, in exact integers.
A pair is (i, j, m, value): its value is the weight it uses of both points, 0 once it is dissolved.
"""

from __future__ import annotations

import numpy as np
from numba import njit

KBITS = 20
GRID = 128  # multipliers: m <= 64 means (64, m), above (128 - m, 64)
FURTHER = 16  # neighbours tried with f > 0, where other multipliers than equal ones may do
MOST_NEW = 255  # conflicts at one node of a tree: their number is a byte
SCANS = 10  # points asked for their neighbours for each conflict that is still needed


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
def rank_neighbours(near_q: np.ndarray, u: int, c: np.ndarray, h: np.ndarray, f: np.ndarray) -> None:
    """f[v] = max over the box of (q_u + q_v).V."""
    f[:] = 0.0
    for k in range(near_q.shape[0]):
        own, ck, hk, row = near_q[k, u], np.float32(c[k]), np.float32(h[k]), near_q[k]
        for v in range(f.shape[0]):
            t = own + row[v]
            f[v] += t * ck + abs(t) * hk


@njit(cache=True)
def pair_up(
    Q: np.ndarray,
    err: np.ndarray,
    c: np.ndarray,
    h: np.ndarray,
    near_q: np.ndarray,
    points: np.ndarray,
    a: np.ndarray,
    s: np.ndarray,
    left: np.ndarray,
    need: int,
    pairs: np.ndarray,
    n_pairs: int,
    most_new: int,
) -> tuple[int, int, int]:
    """Greedily add conflicts until `need` is met; (number of pairs now, what is still needed, points asked for neighbours).

    Of each conflict one point is wrong at the centre, so the search starts from those, the hardest to keep wrong first, and takes
    the weakest conflict: a point that conflicts strongly does so with many.
    """
    r, count = near_q.shape
    unit = r * 2.0**KBITS
    f = np.empty(count, np.float32)
    starts = np.empty(count, np.int64)
    hardness = np.empty(count)
    n_starts = scans = 0
    for u in range(count):
        if left[points[u]] > 0 and a[u] <= 0:
            starts[n_starts] = u
            hardness[n_starts] = -(a[u] + s[u])
            n_starts += 1
    for x in np.argsort(hardness[:n_starts]):
        if need <= 0 or most_new <= 0 or n_pairs >= pairs.shape[0]:
            break
        u = starts[x]
        i = points[u]
        if left[i] <= 0:
            continue
        rank_neighbours(near_q, u, c, h, f)
        scans += 1
        best = -1
        for v in range(count):
            if f[v] <= 0 and (best < 0 or f[v] > f[best]) and left[points[v]] > 0 and v != u:
                best = v
        if best < 0:
            continue
        j = points[best]
        m = conflict(Q, err, i, j, c, h, unit)
        if m == 0:
            continue
        value = min(left[i], left[j])
        left[i] -= value
        left[j] -= value
        need -= value
        pairs[n_pairs, 0], pairs[n_pairs, 1], pairs[n_pairs, 2], pairs[n_pairs, 3] = i, j, m, value
        n_pairs += 1
        most_new -= 1
    return n_pairs, need, scans


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
def _neighbours(f: np.ndarray, allowed: np.ndarray, further: bool, near: np.ndarray) -> int:
    """List the allowed v with f_v <= 0 in `near`, and on request the FURTHER ones of least f above that; how many there are."""
    count = 0
    for v in range(f.shape[0]):
        if f[v] <= 0 and allowed[v]:
            near[count] = v
            count += 1
    if not further:
        return count
    first, last = count, count + FURTHER - 1
    worst = np.float32(np.inf)
    for v in range(f.shape[0]):
        if f[v] >= worst or f[v] <= 0 or not allowed[v]:
            continue
        y = min(count, last)
        while y > first and f[near[y - 1]] > f[v]:
            near[y] = near[y - 1]
            y -= 1
        near[y] = v
        count = min(count + 1, last + 1)
        if count > last:
            worst = f[near[last]]
    return count


@njit(cache=True)
def _mates(
    weights: np.ndarray, points: np.ndarray, count: int, left: np.ndarray, pairs: np.ndarray, n_pairs: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each point its partner and the pair that holds both, -1 for free points; and whether it takes part: it has weight one."""
    place = np.empty(weights.shape[0], np.int64)
    mate = np.full(count, -1, np.int64)
    holder = np.full(count, -1, np.int64)
    usable = np.empty(count, np.bool_)
    for u in range(count):
        place[points[u]] = u
        usable[u] = weights[points[u]] == 1 and left[points[u]] == 1
    for x in range(n_pairs):
        i, j = pairs[x, 0], pairs[x, 1]
        if weights[i] == 1 and weights[j] == 1:
            u, v = place[i], place[j]
            mate[u], mate[v] = v, u
            holder[u] = holder[v] = x
            usable[u] = usable[v] = True
    return mate, holder, usable


@njit(cache=True)
def _find_path(
    Q: np.ndarray,
    err: np.ndarray,
    c: np.ndarray,
    h: np.ndarray,
    near_q: np.ndarray,
    points: np.ndarray,
    root: int,
    mate: np.ndarray,
    allowed: np.ndarray,
    further: bool,
    scans: int,
    f: np.ndarray,
    near: np.ndarray,
    queue: np.ndarray,
    parent: np.ndarray,
    mix: np.ndarray,
) -> tuple[int, int]:
    """Grow the tree of alternating paths from a free point; (the free point it meets or -1, scans left).

    parent[v] is the point in conflict with v through which the tree came, mix[v] the multipliers. What enters the tree is no
    longer allowed in others.
    """
    unit = near_q.shape[0] * 2.0**KBITS
    head, tail = 0, 1
    queue[0] = root
    allowed[root] = False
    while head < tail and scans > 0:
        u = queue[head]
        head += 1
        scans -= 1
        rank_neighbours(near_q, u, c, h, f)
        for y in range(_neighbours(f, allowed, further, near)):
            v = near[y]
            if not allowed[v]:
                continue  # meanwhile in the tree, as the mate of another
            mix[v] = conflict(Q, err, points[u], points[v], c, h, unit)
            if mix[v] == 0:
                continue
            allowed[v] = False
            parent[v] = u
            if mate[v] < 0:
                return v, scans
            allowed[mate[v]] = False
            queue[tail] = mate[v]
            tail += 1
    return -1, scans


@njit(cache=True)
def _newly_made(end: int, mate: np.ndarray, parent: np.ndarray, holder: np.ndarray, inherited: int) -> int:
    """By how many the new pairs would grow: one, and one for each inherited pair on the path."""
    made = 1
    v = mate[parent[end]]
    while v >= 0:
        made += holder[v] < inherited
        v = mate[parent[v]]
    return made


@njit(cache=True)
def _exchange(
    end: int,
    points: np.ndarray,
    mate: np.ndarray,
    parent: np.ndarray,
    mix: np.ndarray,
    holder: np.ndarray,
    pairs: np.ndarray,
    n_pairs: int,
    inherited: int,
) -> int:
    """Make pairs of the conflicts on the path that ends here and dissolve the pairs between them; the number of pairs."""
    v = end
    while v >= 0:
        u = parent[v]
        before, x = mate[u], holder[u]
        if x < inherited:  # the new pair takes the place of the old one, unless that came from above or there is none
            if x >= 0:
                pairs[x, 3] = 0
            x = n_pairs
            n_pairs += 1
        pairs[x, 0], pairs[x, 1], pairs[x, 2], pairs[x, 3] = points[u], points[v], mix[v], 1
        mate[u], mate[v] = v, u
        holder[u] = holder[v] = x
        v = before
    return n_pairs


@njit(cache=True)
def augment(
    Q: np.ndarray,
    err: np.ndarray,
    weights: np.ndarray,
    c: np.ndarray,
    h: np.ndarray,
    near_q: np.ndarray,
    points: np.ndarray,
    a: np.ndarray,
    left: np.ndarray,
    need: int,
    pairs: np.ndarray,
    n_pairs: int,
    inherited: int,
    most_new: int,
    scans: int,
) -> tuple[int, int, int, int]:
    """Enlarge the matching along alternating paths until `need` is met; (pairs, inherited ones among them, what is still needed,
    scans left).

    From a point without a pair a tree of alternating paths grows: conflict, pair, conflict, pair, ..., until it meets another free
    point; then conflicts become pairs and pairs dissolve all along the path. Trees that failed are not entered again in the same
    round. Odd cycles are not shrunk, so now and then a path is missed. At most `scans` points are asked for their neighbours, and at
    most `most_new` pairs are new in the end.
    """
    count = near_q.shape[1]
    mate, holder, usable = _mates(weights, points, count, left, pairs, n_pairs)
    f = np.empty(count, np.float32)
    near = np.empty(count + FURTHER, np.int64)
    queue = np.empty(count, np.int64)
    parent = np.empty(count, np.int64)
    mix = np.empty(count, np.int64)
    most_new -= n_pairs - inherited
    further, progress, room = False, True, True
    while need > 0 and room and scans > 0 and (progress or not further):
        further = further or not progress
        progress = False
        allowed = usable.copy()
        for root in range(count):
            # One point of each conflict is wrong at the centre: paths from there first, from others in the last rounds.
            if mate[root] >= 0 or not allowed[root] or (a[root] > 0 and not further):
                continue
            end, scans = _find_path(
                Q, err, c, h, near_q, points, root, mate, allowed, further, scans, f, near, queue, parent, mix
            )
            if end >= 0:
                made = _newly_made(end, mate, parent, holder, inherited)
                room = made <= most_new and n_pairs + made <= pairs.shape[0]
                if room:
                    n_pairs = _exchange(end, points, mate, parent, mix, holder, pairs, n_pairs, inherited)
                    left[points[root]] = left[points[end]] = 0
                    most_new -= made
                    need -= 1
                    progress = True
            if need <= 0 or scans <= 0 or not room:
                break
    n_pairs, inherited = compact(pairs, n_pairs, inherited)
    return n_pairs, inherited, need, scans


@njit(cache=True)
def match(
    Q: np.ndarray,
    err: np.ndarray,
    weights: np.ndarray,
    c: np.ndarray,
    h: np.ndarray,
    q: np.ndarray,
    points: np.ndarray,
    count: int,
    a: np.ndarray,
    s: np.ndarray,
    left: np.ndarray,
    need: int,
    pairs: np.ndarray,
    n_pairs: int,
    inherited: int,
    hope: float,
) -> tuple[int, int, int, bool, int]:
    """Pairs until `need` is met, along paths too when no more than the share `hope` of their number is wanting (points of weight one).

    Returns (pairs, inherited ones among them, what is still needed, whether paths were tried, points asked for neighbours). `q` holds
    the points' coordinates by columns, a and s are q.c and |q|.h; left is the weight of each point that no pair uses yet.
    """
    r = Q.shape[1]
    near_q = np.empty((r, count), np.float32)
    for k in range(r):
        row, near_row = q[k], near_q[k]
        for u in range(count):
            near_row[u] = row[u]
    n_pairs, need, asked = pair_up(
        Q, err, c, h, near_q, points, a, s, left, need, pairs, n_pairs, MOST_NEW - n_pairs + inherited
    )
    tried = 0 < need <= hope * n_pairs
    if tried:
        scans = SCANS * (need + 1)
        n_pairs, inherited, need, unused = augment(
            Q, err, weights, c, h, near_q, points, a, left, need, pairs, n_pairs, inherited, MOST_NEW, scans
        )
        asked += scans - unused
    return n_pairs, inherited, need, tried, asked
