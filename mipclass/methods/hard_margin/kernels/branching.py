"""The point search's loop: pop a node, collect conflicting subsystems, close the node or branch on the points of one subsystem.

State of a point   FREE, RIGHT (its margin is required) or WRONG (its cost is paid and the point ignored)
Subsystem          pairs (positive, negative) with convex weights; v is the weighted sum of their differences, and every rule that gets all its
                   points right has |w| >= 2 / |v|
Evidence           the tree in preorder as whole numbers: a point p >= 0 branches (p wrong, then p right); -1 - m is a leaf, closed by the m
                   subsystems whose numbers follow
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....kernels.decorator import njit
from ....numeric.hulls import nearest_points

FREE, RIGHT, WRONG = 0, 1, 2
FINISHED, PAUSED, BETTER = 0, 1, 2  # why `branch` returned
NOTHING = -1  # no point is written before the node; no known subsystem closes it


@njit(cache=True)
def _free_cost(members: Any, state: Any, costs: Any, active: Any) -> float:
    """The least cost of a subsystem's free points, infinity when it has none; its free points leave the active ones."""
    least = np.inf
    for q in range(len(members)):
        p = members[q]
        if state[p] == FREE:
            active[p] = False
            least = min(least, costs[p])
    return least


@njit(cache=True)
def _keep(first: Any, second: Any, weights: Any, pool: Any) -> int:
    """The number under which a subsystem is kept; unused places repeat the first pair with weight 0."""
    members, kept, used = pool
    new = used[0]
    for q in range(kept.shape[1]):
        at = q if q < len(first) else 0
        members[new, 2 * q], members[new, 2 * q + 1] = first[at], second[at]
        kept[new, q] = weights[at] if q < len(first) else 0.0
    used[0] += 1
    return int(new)


@njit(cache=True)
def _collect(state: Any, paid: float, ids: Any, points: Any, costs: Any, terms: Any, pool: Any) -> Any:
    """(closed, m, v, middle): m subsystems, their numbers in ids, that close the node; or v separates the points that belong to none.

    terms : (a, target, price, most, ...): target - price * paid is left for a |w|^2, and at most `most` may be paid.   middle : v.x halfway between the two classes.
    """
    P, N = points
    a, target, price, most, _, _ = terms
    active = state != WRONG
    v, m = np.zeros(P.shape[1]), 0
    while paid <= most and price * paid < target:
        rows, columns = np.flatnonzero(active[: len(P)]), np.flatnonzero(active[len(P) :])
        if len(rows) == 0 or len(columns) == 0:
            return False, m, v, 0.0
        kept_p, kept_n = P[rows], N[columns]
        enough = 4 * a / (target - price * paid)
        first, second, weights, v, _ = nearest_points(kept_p, kept_n, enough)
        if np.dot(v, v) > enough:
            return False, m, v, ((kept_p @ v).min() + (kept_n @ v).max()) / 2
        ids[m] = _keep(rows[first], len(P) + columns[second], weights, pool)
        paid += _free_cost(pool[0][ids[m]], state, costs, active)
        m += 1
    return True, m, v, 0.0


@njit(cache=True)
def _free_points(members: Any, state: Any, v: Any, middle: float, points: Any) -> Any:
    """A subsystem's free points, each once; those that are furthest on the wrong side of  v.x = middle  first.

    Such points are likely to be wrong, and the later children, where they are right, are closed soon.
    """
    P, N = points
    found, scores, count = np.zeros(len(members), np.int64), np.zeros(len(members)), 0
    for q in range(len(members)):
        p = members[q]
        known = state[p] != FREE
        for t in range(count):
            known = known or found[t] == p
        if not known:
            found[count] = p
            scores[count] = np.dot(P[p], v) - middle if p < len(P) else middle - np.dot(N[p - len(P)], v)
            count += 1
    return found[:count][np.argsort(scores[:count])]


@njit(cache=True)
def use_up(state: Any, n_p: int, most_p: float, most_n: float) -> None:
    """In a class with as many wrong points as are allowed all others are right, in place."""
    for first, end, most in ((0, n_p, most_p), (n_p, len(state), most_n)):
        if np.sum(state[first:end] == WRONG) >= most:
            for p in range(first, end):
                if state[p] == FREE:
                    state[p] = RIGHT


@njit(cache=True)
def branch(stack: Any, top: int, budget: int, points: Any, costs: Any, terms: Any, pool: Any, out: Any) -> Any:
    """(why, top, nodes, v): work on the stack until it is empty, a buffer is full, the budget is used, or a node holds a better rule.

    stack : (states, points to write first, costs paid, the subsystem that closes a known leaf).   out : (ints, number used).
    terms : (a, target, price, most that may be paid: for all points, the positives, the negatives).
    v : a direction whose rule beats the target, when `why` is BETTER.
    """
    states, before, paids, known = stack
    ints, written = out
    n, nodes = states.shape[1], 0
    v, ids = np.zeros(points[0].shape[1]), np.zeros(n, np.int64)
    while top > 0:
        full = top + pool[0].shape[1] + 2 > len(states) or pool[2][0] + n > len(pool[0])
        if nodes >= budget or full or written[0] + n + 3 > len(ints):
            return PAUSED, top, nodes, v
        top -= 1
        state, paid, closed, m = states[top].copy(), paids[top], True, 1
        ids[0] = known[top]
        middle = 0.0
        if known[top] == NOTHING:
            nodes += 1
            closed, m, v, middle = _collect(state, paid, ids, points, costs, terms, pool)
            if not closed and m == 0:
                return BETTER, top + 1, nodes, v
        if before[top] != NOTHING:
            ints[written[0]] = before[top]
            written[0] += 1
        if closed:
            ints[written[0]] = -1 - m
            ints[written[0] + 1 : written[0] + 1 + m] = ids[:m]
            written[0] += 1 + m
        else:
            free = _free_points(pool[0][ids[0]], state, v, middle, points)
            top = _push(stack, top, free, ids[0], state, paid, costs)
            if min(terms[4], terms[5]) < np.inf:
                for child in range(top - len(free), top):
                    use_up(states[child], len(points[0]), terms[4], terms[5])
    return FINISHED, top, nodes, v


@njit(cache=True)
def _push(stack: Any, top: int, free: Any, subsystem: int, state: Any, paid: float, costs: Any) -> int:
    """Push a node's children in reverse: point t of the subsystem wrong, those before it right. All right: closed by the subsystem."""
    states, before, paids, known = stack
    states[top], before[top], paids[top], known[top] = state, NOTHING, paid, subsystem
    top += 1
    for t in range(len(free) - 1, -1, -1):
        states[top] = state
        for q in range(t):
            states[top, free[q]] = RIGHT
        states[top, free[t]] = WRONG
        before[top], paids[top], known[top] = free[t], paid + costs[free[t]], NOTHING
        top += 1
    return top
