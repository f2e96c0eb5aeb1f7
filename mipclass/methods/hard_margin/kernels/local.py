"""Incumbents of the hard-margin loss: the best slab of a direction, the widest margin of the points it keeps, and swaps of one point.

A rule is a slab  {x : |w.x + b| < 1}  of a direction; it costs  a |w|^2 + price (sum of the costs of the points that are not beyond their face).
That sum is at most `most`, and at most `most_p` and `most_n` in the classes. Arguments `terms` are (a, price, most, most_p, most_n):
(a, 1, infinity, ...) for a loss, (a, 0, K, ...) for a limit of K.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....kernels.decorator import njit
from ....numeric.hulls import nearest_points

BETTER = 1e-10  # relative improvement that counts as one
ON_FACE = 1e-9  # relative slack within which a point counts as reaching its face
SUPPORT = 1e-6  # margin above 1 up to which a point may support the slab


@njit(cache=True)
def best_slab(up: Any, down: Any, below: Any, above: Any, terms: Any) -> Any:
    """(cost, half width, middle) of the cheapest slab with its faces on points; sorted scores of positives and negatives, |u| = 1.

    below, above : what the first j positives and the last q negatives cost, by j and q. The half width is 0 when no slab is cheaper
    than the constant rule. O(n+ n-), mostly much less: costs only grow along a row.
    """
    a, price, most, most_p, most_n = terms
    best, width, middle = _constant(below[-1], above[-1], terms), 0.0, 0.0
    for j in range(len(up)):
        if below[j] > most_p:
            break
        for q in range(len(down)):
            errors = below[j] + above[q]
            if errors > most or above[q] > most_n or price * errors >= best:
                break
            s = (up[j] - down[len(down) - 1 - q]) / 2
            if s > 0 and a / (s * s) + price * errors < best:
                best, width, middle = a / (s * s) + price * errors, s, up[j] - s
    return best, width, middle


@njit(cache=True)
def _constant(positives: float, negatives: float, terms: Any) -> float:
    """What the rule w = 0 costs that gets the cheaper class wrong; infinity when that is too many."""
    _, price, most, most_p, most_n = terms
    errors = min(positives, negatives)
    return price * errors if errors <= min(most, most_p if positives <= negatives else most_n) else np.inf


@njit(cache=True)
def partial_sums(costs: Any) -> Any:
    """0 and the partial sums."""
    sums = np.zeros(len(costs) + 1)
    for i in range(len(costs)):
        sums[i + 1] = sums[i] + costs[i]
    return sums


@njit(cache=True)
def descend(P: Any, N: Any, costs: Any, direction: Any, terms: Any) -> Any:
    """(cost, w, b): best slab of the direction, widest margin of the points it keeps, and again, while the cost falls.

    costs : (of the positives, of the negatives).
    """
    of_p, of_n = costs
    cost = _constant(of_p.sum(), of_n.sum(), terms)
    w, b = np.zeros(P.shape[1]), 1.0 if of_p.sum() >= of_n.sum() else -1.0
    u = direction
    while True:
        norm = np.sqrt(np.dot(u, u))
        if norm == 0.0:
            return cost, w, b
        u = u / norm
        up, down = P @ u, N @ u
        rows, columns = np.argsort(up), np.argsort(down)
        below, above = partial_sums(of_p[rows]), partial_sums(of_n[columns[::-1]])
        value, s, middle = best_slab(up[rows], down[columns], below, above, terms)
        if s == 0.0 or value >= cost * (1 - BETTER):
            return cost, w, b
        cost, w, b = value, u / s, -middle / s
        slack = ON_FACE * s
        u = nearest_points(P[up >= middle + s - slack], N[down <= middle - s + slack], -1.0)[3]


@njit(cache=True)
def swap(P: Any, N: Any, costs: Any, rule: Any, terms: Any, moves: Any) -> Any:
    """(cost, w, b, next move): drop single support points and add single errors, each followed by `descend`, up to the first that helps.

    moves : (first, end) of the moves to try, one per point: positives, then negatives. The next move is 0 after an improvement.
    """
    cost, w, b = rule
    up, down = P @ w + b, -(N @ w + b)
    for move in range(moves[0], moves[1]):
        positive = move < len(up)
        at = move if positive else move - len(up)
        margin = up[at] if positive else down[at]
        if margin > 1 + SUPPORT:
            continue
        kept_up, kept_down = up >= 1 - ON_FACE, down >= 1 - ON_FACE
        if positive:
            kept_up[at] = not kept_up[at]
        else:
            kept_down[at] = not kept_down[at]
        if not (kept_up.any() and kept_down.any()):
            continue
        found = descend(P, N, costs, nearest_points(P[kept_up], N[kept_down], -1.0)[3], terms)
        if found[0] < cost * (1 - BETTER):
            return found[0], found[1], found[2], 0
    return cost, w, b, moves[1]
