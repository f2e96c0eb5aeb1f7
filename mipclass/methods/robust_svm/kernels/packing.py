"""Packing of conflicts: disjoint groups of points that every rule of a node pays for, beside the dual of the other points' envelopes.

Ball      Rules of the node that cost less than the target have |w - q| <= r; with a free offset, low_b <= b <= high_b.
Group     Points U with multipliers 0 <= alpha_i <= C_i; g = sum_U alpha_i z_i, beta = sum_U alpha_i y_i. If no margin of U is below s, the losses
          are at least those of the hinge:  sum_U C_i loss(m_i) >= sum_U alpha_i (1 - m_i) >= sum_U alpha_i - g.q - r |g| - max(beta low_b, beta high_b).
          Else some point i with low_i < s costs (1 - s) C_i or more, and each other point what it costs at the upper end of its interval.
Charge    of a group: the least of these. The charges of disjoint groups and D of the other points add up, because the norm is in D alone.

Choice    With weights lambda of sum 1, g = sum lambda_i z_i, a group conflicts where g.q + r |g| is small. For |g| near l this is, up to constants,
          r / (2 l) |g + l q / r|^2: g should be near -l q / r. l = 1 / (2 r) is the length at which g costs half of the group's sum. So groups
          are the supports of the points of the hull nearest to -q / (2 r^2), found by Wolfe's algorithm; with a free offset each class has
          weights of sum 1, beta is 0 and the point is twice as far.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....kernels.decorator import njit
from ....numeric.hulls import nearest_points
from .envelope_bound import loss_at

MOST_GROUPS = 255  # groups of one record; their numbers are kept in a byte
WORTH = 1e-6  # part of the largest C by which a group must raise what its points cost anyway
NEAR = 0.01  # distance times r at which a group is near enough: its sum loses less than this part of itself
LEAST_WEIGHT = 1e-9  # convex weights below this are rounding


@njit(cache=True)
def charge(Z: Any, y: Any, loss: Any, low: Any, high: Any, ball: Any, ends: Any, members: Any, alpha: Any) -> Any:
    """(charge, floor) of a group with the multipliers alpha of its members; the floor is what the points cost at the upper ends of their intervals.

    ends : the interval of b, or (0, 0) without a free offset; y is then of no account.
    """
    costs, theta, s = loss
    q, r = ball
    g, beta, whole, floor, outlier = np.zeros(len(q)), 0.0, 0.0, 0.0, np.inf
    for t in range(len(members)):
        i = members[t]
        for k in range(len(q)):
            g[k] += alpha[t] * Z[i, k]
        beta += alpha[t] * y[i]
        whole += alpha[t]
        least = costs[i] * loss_at(high[i], theta, s)
        floor += least
        if low[i] < s:
            outlier = min(outlier, (1.0 - s) * costs[i] - least)
    inliers = whole - np.dot(g, q) - r * np.sqrt(np.dot(g, g)) - max(beta * ends[0], beta * ends[1])
    return min(inliers, floor + outlier), floor


@njit(cache=True)
def _nearest(Z: Any, y: Any, idle: Any, shift: Any, near: float, is_free: bool) -> Any:
    """(members, weights): the points whose convex combination is nearest to `shift`, one sum of weights for each class with a free offset."""
    n = len(idle)
    if is_free:
        first_of, second_of = np.flatnonzero(idle & (y > 0)), np.flatnonzero(idle & (y < 0))
        if len(first_of) == 0 or len(second_of) == 0:
            return first_of[:0], np.zeros(0)
        first, second, weights, _, _ = nearest_points(Z[first_of], shift - Z[second_of], -1.0, near)
    else:
        first_of = np.flatnonzero(idle)
        second_of = first_of[:0]
        if len(first_of) == 0:
            return first_of, np.zeros(0)
        first, second, weights, _, _ = nearest_points(Z[first_of], shift.reshape(1, len(shift)), -1.0, near)
    total = np.zeros(n)
    for k in range(len(weights)):
        total[first_of[first[k]]] += weights[k]
        if is_free:
            total[second_of[second[k]]] += weights[k]
    members = np.flatnonzero(total > LEAST_WEIGHT)
    return members, total[members]


@njit(cache=True)
def pack(Z: Any, y: Any, loss: Any, low: Any, high: Any, ball: Any, ends: Any, is_free: bool, unit: float) -> Any:
    """(total of the charges, group of each point or 0, numbers): multipliers are whole multiples of a unit."""
    costs, _, s = loss
    n = len(costs)
    groups, numbers, total = np.zeros(n, np.uint8), np.zeros(n), 0.0
    idle = np.zeros(n, np.bool_)
    for i in range(n):
        idle[i] = high[i] > s and costs[i] > 0.0
    least, near = WORTH * costs.max(), (NEAR / (ball[1] + 1e-300)) ** 2
    shift = -ball[0] / (2.0 * ball[1] ** 2 + 1e-300) * (2.0 if is_free else 1.0)
    for group in range(1, MOST_GROUPS + 1):
        members, weights = _nearest(Z, y, idle, shift, near, is_free)
        if len(members) < 2:
            break
        scale = (costs[members] / weights).min()
        found = np.floor(scale * weights / unit)
        value, floor = charge(Z, y, loss, low, high, ball, ends, members, found * unit)
        if value <= floor + least:
            break
        total += value
        for t in range(len(members)):
            groups[members[t]], numbers[members[t]], idle[members[t]] = group, found[t], False
    return total, groups, numbers
