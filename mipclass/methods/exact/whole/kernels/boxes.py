"""Boxes of whole weights: what every rule in them costs at least.

Over a box low <= w <= high in which at most `most` weights may differ from zero, the signed score y_i q_i.w of a point is at most

    g_i = sum_{used j} max(low_j, high_j times y_i q_ij) + the largest (most - used) such terms of weights that may be zero.

A threshold t calls a point positive when its score exceeds t. A positive point can be right only for t <= P_i and a negative one only for
t >= N_i, where P_i and N_i follow from g_i (`limits_of_threshold`). The bound is the least weight of the points that some t leaves wrong:
a sort and a sweep, O(n d + n log n). At a single w it is the cost of w with its best offset. A row a.w >= c closes the boxes over which
the largest a.w, found like a score, is below c.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .....arrays import Index
from .....kernels.decorator import njit

FREE, WHOLE, NONE = range(3)  # the offset: any number, a whole number, zero
EMPTY = 1 << 62  # bound of a box without a rule that keeps all limits and rows
LARGEST_LACK = 1 << 60  # by how much rows may be broken before more makes no difference


class WholeRows(NamedTuple):
    """The points as whole numbers: row i is y_i times the centred and scaled x_i."""

    signed: Index  # (n, d)
    positive: Index  # (n,), 1 for positive points, else 0
    weights: Index  # (n,), costs in units
    limits: Index  # (K, n), coefficients of the limits on errors, whole and not negative
    at_most: Index  # (K,)
    one: int  # what a score of 1 is scaled to
    blur: int  # by how much rounding may have changed a score, with margin 1; else 0
    offset: int  # FREE, WHOLE or NONE
    margin: int  # 0 or 1
    most: int  # weights other than zero, at most
    feature_cost: int  # cost of each, in units
    sides: Index  # (R, d), rows a.w >= c between weights, in whole numbers
    side_ends: Index  # (R,), the c


@njit(cache=True)
def used_and_open(low: Index, high: Index) -> tuple[int, int]:
    """Number of weights that are not zero all over the box, and of those that may be zero or not."""
    used, undecided = 0, 0
    for j in range(low.shape[0]):
        if low[j] > 0 or high[j] < 0:
            used += 1
        elif low[j] < high[j]:
            undecided += 1
    return used, undecided


@njit(cache=True)
def best_scores(signed: Index, low: Index, high: Index, most: int, out: Index, terms: Index) -> None:
    """g_i of every point, with at most `most` weights that are not zero; `terms` has room for d numbers."""
    n, d = signed.shape
    used, undecided = used_and_open(low, high)
    room = most - used
    for i in range(n):
        total = 0
        count = 0
        for j in range(d):
            q = signed[i, j]
            term = high[j] * q if q > 0 else low[j] * q
            if low[j] > 0 or high[j] < 0 or undecided <= room:
                total += term
            elif room > 0 and term > 0:
                # The `room` largest terms so far, in descending order.
                k = min(count, room - 1)
                if count < room or term > terms[k]:
                    while k > 0 and terms[k - 1] < term:
                        terms[k] = terms[k - 1]
                        k -= 1
                    terms[k] = term
                    count = min(count + 1, room)
        for k in range(count):
            total += terms[k]
        out[i] = total


@njit(cache=True)
def limit_of_threshold(score: int, is_positive: bool, rows: WholeRows) -> int:
    """P_i of a positive point whose score is at most `score`, or N_i of a negative one whose score is at least that."""
    one = rows.one
    if rows.offset == FREE:
        if rows.margin == 0:
            return score - 1 if is_positive else score
        return score + rows.blur - one if is_positive else score - rows.blur + one
    if rows.margin == 0:
        return -((-score) // one) - 1 if is_positive else score // one + 1
    return (score + rows.blur) // one - 1 if is_positive else -((rows.blur - score) // one) + 1


@njit(cache=True)
def lack_of_rows(rows: WholeRows, low: Index, high: Index, terms: Index) -> int:
    """By how much each rule of the box breaks the rows between weights at least, summed over the rows; 0 if they may be kept."""
    R = rows.side_ends.shape[0]
    if R == 0:
        return 0
    reached = np.empty(R, np.int64)
    best_scores(rows.sides, low, high, rows.most, reached, terms)
    lack = 0
    for r in range(R):
        lack = min(LARGEST_LACK, lack + max(0, min(LARGEST_LACK, rows.side_ends[r] - reached[r])))
    return lack


@njit(cache=True)
def least_cost(rows: WholeRows, low: Index, high: Index, g: Index, terms: Index) -> int:
    """What every rule of the box costs at least, in units; EMPTY if none keeps the limits, and more the more the rows between weights are
    broken, so that descents find rules that keep them. `g` and `terms` are room."""
    n = g.shape[0]
    used, _ = used_and_open(low, high)
    if used > rows.most:
        return EMPTY + LARGEST_LACK
    lack = lack_of_rows(rows, low, high, terms)
    if lack > 0:
        return EMPTY + lack
    best_scores(rows.signed, low, high, rows.most, g, terms)
    K = rows.at_most.shape[0]
    cost = rows.feature_cost * used
    negatives = 0
    for i in range(n):
        negatives += 1 - rows.positive[i]
    P, N = np.empty(n - negatives, np.int64), np.empty(negatives, np.int64)
    at_p, at_n = np.empty(n - negatives, np.int64), np.empty(negatives, np.int64)
    a, b = 0, 0
    for i in range(n):
        if rows.positive[i]:
            P[a], at_p[a] = limit_of_threshold(g[i], True, rows), i
            a += 1
        else:
            N[b], at_n[b] = limit_of_threshold(-g[i], False, rows), i
            b += 1
    spent = np.zeros(K, np.int64)
    if rows.offset == NONE:
        for k in range(a):
            if P[k] < 0:
                cost += rows.weights[at_p[k]]
                for l in range(K):
                    spent[l] += rows.limits[l, at_p[k]]
        for k in range(b):
            if N[k] > 0:
                cost += rows.weights[at_n[k]]
                for l in range(K):
                    spent[l] += rows.limits[l, at_n[k]]
        for l in range(K):
            if spent[l] > rows.at_most[l]:
                return EMPTY
        return cost
    order_p, order_n = np.argsort(P), np.argsort(N)
    for k in range(b):
        cost += rows.weights[at_n[k]]
        for l in range(K):
            spent[l] += rows.limits[l, at_n[k]]
    best = EMPTY
    keeps = True
    for l in range(K):
        keeps = keeps and spent[l] <= rows.at_most[l]
    if keeps:
        best = cost
    below = 0
    for k in range(b):
        i = at_n[order_n[k]]
        t = N[order_n[k]]
        cost -= rows.weights[i]
        for l in range(K):
            spent[l] -= rows.limits[l, i]
        while below < a and P[order_p[below]] < t:
            p = at_p[order_p[below]]
            cost += rows.weights[p]
            for l in range(K):
                spent[l] += rows.limits[l, p]
            below += 1
        if cost < best:
            keeps = True
            for l in range(K):
                keeps = keeps and spent[l] <= rows.at_most[l]
            if keeps:
                best = cost
    return best
