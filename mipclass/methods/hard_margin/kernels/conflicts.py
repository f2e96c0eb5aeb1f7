"""Pairs of points that no rule of a box gets right together, their matchings, and the points that a full matching forces right.

Box        directions u with |u_k - c_k| <= h_k;  w = t u / s for some t > 0, with s the scale of each feature
Level k    rules with |w| < rho_k; rho_k falls with k, so conflicts of one level stay conflicts of all later ones
Conflict   positive j and negative i, delta = x_j - x_i: both right needs w.delta >= 2 > 2 |w| / rho >= 2 g.w / rho  for any |g| <= 1.
           So they conflict when  u.(rho delta - 2 g) / s <= 0  all over the box. g is the unit vector of the centre.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....kernels.decorator import njit

NEVER = 1 << 14  # level of a pair that conflicts at no level
SAFE = 1e-11  # a pair conflicts only by this relative margin: rounding, and the checker's rounding of g and rho, stay far below it


@njit(cache=True)
def _in_conflict(c: Any, h: Any, g: Any, x: Any, z: Any, rho: float) -> bool:
    """Whether positive x and negative z conflict below the norm rho; x, z and g are divided by the scales."""
    most, size = 0.0, 0.0
    for k in range(len(c)):
        t = rho * (x[k] - z[k]) - 2 * g[k]
        most += c[k] * t + h[k] * abs(t)
        size += abs(c[k] * t)
    return most <= -SAFE * size


@njit(cache=True)
def one_level(c: Any, h: Any, g: Any, P: Any, N: Any, rho: float, level: Any) -> None:
    """level[j, i] = 0 for the conflicts below the norm rho, NEVER elsewhere."""
    for j in range(len(P)):
        for i in range(len(N)):
            level[j, i] = 0 if _in_conflict(c, h, g, P[j], N[i], rho) else NEVER


@njit(cache=True)
def all_levels(c: Any, h: Any, g: Any, P: Any, N: Any, rhos: Any, level: Any) -> None:
    """level[j, i] = the first level at which j and i conflict, by bisection."""
    last = len(rhos) - 1
    for j in range(len(P)):
        for i in range(len(N)):
            if not _in_conflict(c, h, g, P[j], N[i], rhos[last]):
                level[j, i] = NEVER
                continue
            below, at = -1, last
            while at - below > 1:
                middle = (at + below) // 2
                if _in_conflict(c, h, g, P[j], N[i], rhos[middle]):
                    at = middle
                else:
                    below = middle
            level[j, i] = at


@njit(cache=True)
def enlarge(level: Any, k: int, needed: int, mates: Any) -> int:
    """Enlarge a matching of conflicts of level <= k, greedily and then by augmenting paths until it has `needed` pairs; its size.

    mates : (mate of each positive, mate of each negative), -1 for none. A size below `needed` is the largest possible.
    """
    of_p, of_n = mates
    size = 0
    for j in range(len(of_p)):
        if of_p[j] < 0:
            for i in range(len(of_n)):
                if of_n[i] < 0 and level[j, i] <= k:
                    of_p[j], of_n[i] = i, j
                    break
        size += of_p[j] >= 0
    if size >= needed:
        return size
    seen, parent = np.zeros(len(of_n), np.int64), np.zeros(len(of_n), np.int64)
    queue = np.zeros(len(of_p) + 1, np.int64)
    for j in range(len(of_p)):
        if size >= needed:
            break
        if of_p[j] < 0:
            size += _augment(level, k, j, mates, seen, parent, queue)
    return size


@njit(cache=True)
def _augment(level: Any, k: int, root: int, mates: Any, seen: Any, parent: Any, queue: Any) -> int:
    """1 when an augmenting path from the positive `root` was found and applied, else 0."""
    of_p, of_n = mates
    queue[0], head, tail = root, 0, 1
    while head < tail:
        j = queue[head]
        head += 1
        for i in range(len(of_n)):
            if level[j, i] > k or seen[i] == root + 1:
                continue
            seen[i], parent[i] = root + 1, j
            if of_n[i] >= 0:
                queue[tail] = of_n[i]
                tail += 1
                continue
            while True:
                j = parent[i]
                following = of_p[j]
                of_p[j], of_n[i] = i, j
                if j == root:
                    return 1
                i = following
    return 0


@njit(cache=True)
def forced_right(level: Any, k: int, mates: Any) -> Any:
    """Points that are right in every rule with exactly one error per pair of a largest matching of conflicts of level <= k.

    Points are positives 0 .. n+ - 1 and negatives n+ .. n - 1. Unmatched points are right; what conflicts with a right point is wrong;
    the mate of a wrong point is right. (right, because): because_v is the right point that made v's mate wrong, -1 for unmatched v.
    """
    of_p, of_n = mates
    n_p, n = len(of_p), len(of_p) + len(of_n)
    right, because, queue, tail = np.zeros(n, np.bool_), np.full(n, -1), np.zeros(n, np.int64), 0
    for v in range(n):
        if (of_p[v] if v < n_p else of_n[v - n_p]) < 0:
            right[v], queue[tail] = True, v
            tail += 1
    head = 0
    while head < tail:
        v = queue[head]
        head += 1
        positive = v < n_p
        for other in range(len(of_n) if positive else n_p):
            if (level[v, other] if positive else level[other, v - n_p]) > k:
                continue
            mate = of_n[other] if positive else of_p[other] + n_p
            if not right[mate]:
                right[mate], because[mate], queue[tail] = True, v, mate
                tail += 1
    return right, because
