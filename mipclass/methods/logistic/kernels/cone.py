"""The convex relaxation of a box of scorecards, by a barrier method, with a lower bound from Fenchel duality.

A scorecard has whole weights w in a box lo <= w <= up and a multiplier 1/s; its loss depends on v = s w alone:

    minimise    sum_i c_i log(1 + exp(-z_i.v)) + sum_j (square_j v_j^2 + linear_j v_j)
    subject to  lo_j s <= v_j <= up_j s,   s_low <= s <= s_high,

which is convex in (v, s). The last coordinate of v is the offset. With s_low = s_high = 1 this is the box itself; penalties
are allowed in this case only. Coordinates with lo = up leave the problem: v_j = lo_j s.

Any dual point gives a lower bound: with 0 <= p_i <= c_i and u = sum_i p_i z_i,

    loss(v) >= sum_i c_i H(p_i / c_i) - u.v    for every v, H the entropy,

whose minimum over the box has a closed form. At p_i = c_i / (1 + exp(m_i)) it is tight for the optimal v. When the offset is
unbounded, the p of one class are scaled down so that u has no component along the offset.
"""

from __future__ import annotations

import numpy as np

from ....arrays import Array, Index
from ....kernels.decorator import njit
from .sums import combine, entropy, losses, second_moments, solve_in_place, weighted_sum

MOST_STEPS = 80
"""Newton steps at most; 8 to 15 are usual."""

SHRINK = 0.12
"""The barrier's weight is multiplied by this when a Newton step is short."""

INTERIOR = 0.15
"""A start is moved into the interior: this fraction of the box's width away from its sides."""

CLOSE_ENOUGH = 0.05
"""A node that cannot be pruned is solved until its bound is known to this fraction of the distance to the cutoff."""

ACCURACY = 1e-9
"""Relative accuracy at which a relaxation counts as solved."""

SHORT_STEP = 0.3
"""A Newton decrement (squared, in units of the barrier's weight) below which the barrier's weight is lowered."""


@njit(cache=True)
def node_bound(
    F: Array,
    c: Array,
    m: Array,
    p: Array,
    lo: Array,
    up: Array,
    s_range: Array,
    penalties: Array,
    y: Array,
    n_free: int,
) -> float:
    """The Fenchel bound at p; rows F_0..F_{n_free - 1} are free coordinates, F_{n_free} is the direction of s.

    penalties holds the linear and the quadratic costs of the free coordinates. y is the offset's row when it is unbounded, and
    has length zero otherwise.
    """
    n = c.shape[0]
    share_pos, share_neg = 1.0, 1.0
    if y.shape[0] > 0:
        pos, neg = 0.0, 0.0
        for i in range(n):
            if y[i] > 0:
                pos += p[i]
            else:
                neg += p[i]
        if pos > neg:
            share_pos = neg / pos
        elif neg > 0:
            share_neg = pos / neg
    total = 0.0
    for i in range(n):
        if y.shape[0] > 0:
            p[i] *= share_pos if y[i] > 0 else share_neg
        total += c[i] * entropy(p[i] / c[i])
    slope = -weighted_sum(p, F[n_free])
    constant = 0.0
    for a in range(n_free):
        if y.shape[0] > 0 and a == n_free - 1:
            continue  # The offset, last among the free coordinates: u has no component along it.
        u = weighted_sum(p, F[a]) - penalties[0, a]
        square = penalties[1, a]
        if square > 0.0:
            best = min(max(u / (2.0 * square), lo[a]), up[a])
            constant += square * best * best - u * best
        else:
            slope += min(-u * lo[a], -u * up[a])
    return total + constant + min(slope * s_range[0], slope * s_range[1])


@njit(cache=True)
def relax(
    Z: Array,
    c: Array,
    lower: Array,
    upper: Array,
    s_range: Array,
    linear: Array,
    squares: Array,
    start: Array,
    cutoff: float,
) -> tuple[float, float, Array]:
    """(bound, value, point) of a box: point is v and, last, s. The bound may stay rough where it prunes the box anyway,
    and where it cannot; with a cutoff of NaN it is as close as ACCURACY allows.

    Z has a row for each coordinate of v, the offset's last, and one column per point, multiplied by its label.
    """
    d, n = Z.shape
    free = np.empty(d, np.int64)
    k = 0
    for j in range(d):
        if lower[j] < upper[j]:
            free[k] = j
            k += 1
    has_s = s_range[0] < s_range[1]
    r = k + 1 if has_s else k
    F = np.zeros((k + 1, n))
    lo, up, penalties = np.empty(k), np.empty(k), np.zeros((2, k))
    constant = 0.0
    for a in range(k):
        j = free[a]
        for i in range(n):
            F[a, i] = Z[j, i]
        lo[a], up[a], penalties[0, a], penalties[1, a] = lower[j], upper[j], linear[j], squares[j]
    for j in range(d):
        if lower[j] == upper[j] and lower[j] != 0.0:
            for i in range(n):
                F[k, i] += lower[j] * Z[j, i]
            constant += squares[j] * lower[j] ** 2 + linear[j] * lower[j]
    x, s = _interior(start, free, k, lo, up, s_range)
    offset = np.zeros(n)
    if not has_s:
        for i in range(n):
            offset[i] = s * F[k, i]
    open_offset = k > 0 and free[k - 1] == d - 1 and np.isinf(lo[k - 1]) and np.isinf(up[k - 1])
    y = Z[d - 1] if open_offset else np.empty(0)
    bound, value, x = _barrier(
        F, c, offset, x, r, k, lo, up, s_range, penalties, y, np.array([cutoff - constant, constant])
    )
    point = np.empty(d + 1)
    s = x[k] if has_s else s_range[0]
    for j in range(d):
        point[j] = lower[j] * s
    for a in range(k):
        point[free[a]] = x[a]
    point[d] = s
    return bound + constant, value + constant, point


@njit(cache=True)
def _interior(start: Array, free: Index, k: int, lo: Array, up: Array, s_range: Array) -> tuple[Array, float]:
    """The start moved into the interior of the cone; (x, s) with x_k = s when s is free."""
    d = start.shape[0] - 1
    s = start[d]
    if s_range[0] < s_range[1]:
        width = s_range[1] - s_range[0]
        s = min(max(s, s_range[0] + min(0.01 * width, 0.5 * s_range[0] + 1e-3 * width)), s_range[1] - 0.01 * width)
    else:
        s = s_range[0]
    x = np.empty(k + 1)
    x[k] = s
    for a in range(k):
        w = start[free[a]] / s
        if np.isinf(lo[a]) and np.isinf(up[a]):
            x[a] = start[free[a]]
            continue
        margin = INTERIOR * (up[a] - lo[a]) if not (np.isinf(lo[a]) or np.isinf(up[a])) else INTERIOR
        x[a] = s * min(max(w, lo[a] + margin), up[a] - margin)
    return x, s


@njit(cache=True)
def _slack_terms(
    x: Array, s: float, k: int, lo: Array, up: Array, s_range: Array, has_s: bool, mu: float, g: Array, H: Array
) -> None:
    """Add the barrier's gradient and Hessian."""
    for a in range(k):
        for side in range(2):
            limit = lo[a] if side == 0 else up[a]
            if np.isinf(limit):
                continue
            sign = 1.0 if side == 0 else -1.0
            slack = sign * (x[a] - limit * s)
            first, second = mu / slack, mu / (slack * slack)
            g[a] -= sign * first
            H[a, a] += second
            if has_s:
                g[k] += sign * first * limit
                H[k, k] += second * limit * limit
                H[k, a] -= second * limit
    if has_s:
        low, high = s - s_range[0], s_range[1] - s
        g[k] += mu / high - mu / low
        H[k, k] += mu / (low * low) + mu / (high * high)


@njit(cache=True)
def _barrier_value(x: Array, s: float, k: int, lo: Array, up: Array, s_range: Array, has_s: bool) -> float:
    """The sum of the logarithms of all slacks; -inf outside."""
    total = 0.0
    for a in range(k):
        if not np.isinf(lo[a]):
            slack = x[a] - lo[a] * s
            if slack <= 0.0:
                return -np.inf
            total += np.log(slack)
        if not np.isinf(up[a]):
            slack = up[a] * s - x[a]
            if slack <= 0.0:
                return -np.inf
            total += np.log(slack)
    if has_s:
        if s <= s_range[0] or s >= s_range[1]:
            return -np.inf
        total += np.log(s - s_range[0]) + np.log(s_range[1] - s)
    return total


@njit(cache=True)
def _penalty(x: Array, k: int, penalties: Array) -> float:
    total = 0.0
    for a in range(k):
        total += penalties[1, a] * x[a] * x[a] + penalties[0, a] * x[a]
    return total


@njit(cache=True)
def _barrier(
    F: Array,
    c: Array,
    offset: Array,
    x: Array,
    r: int,
    k: int,
    lo: Array,
    up: Array,
    s_range: Array,
    penalties: Array,
    y: Array,
    targets: Array,
) -> tuple[float, float, Array]:
    """(bound, value, point) of the reduced problem; targets = (cutoff, constant left out)."""
    n = c.shape[0]
    has_s = r > k
    cutoff = targets[0]
    m, p, q = np.empty(n), np.empty(n), np.empty(n)
    g, H, step, trial = np.empty(r), np.empty((r, r)), np.empty(r), np.empty(k + 1)
    bound = -np.inf
    combine(F, x, r, offset, m)
    value = losses(m, c, p) + _penalty(x, k, penalties)
    mu = max(1e-3 * abs(value), 1e-6)
    least = ACCURACY * max(1.0, abs(value)) / (2 * r + 2)
    for _ in range(MOST_STEPS):
        for i in range(n):
            q[i] = p[i] * (1.0 - p[i] / c[i])
        for a in range(r):
            g[a] = -weighted_sum(p, F[a])
        second_moments(F, q, r, H)
        for a in range(k):
            g[a] += penalties[0, a] + 2.0 * penalties[1, a] * x[a]
            H[a, a] += 2.0 * penalties[1, a]
        s = x[k]
        _slack_terms(x, s, k, lo, up, s_range, has_s, mu, g, H)
        for a in range(r):
            step[a] = -g[a]
        solve_in_place(H, step)
        decrement = 0.0
        for a in range(r):
            decrement -= g[a] * step[a]
        if decrement < SHORT_STEP * mu * max(1, r):
            bound = max(bound, node_bound(F, c, m, p, lo, up, s_range, penalties, y, k))
            if bound >= cutoff or value - bound <= 2.0 * r * least:
                break
            if value < cutoff and value - bound <= CLOSE_ENOUGH * (cutoff - value):
                break
            if mu <= least and decrement < 1e-3 * mu:
                break
            mu = max(SHRINK * mu, 0.1 * least)
        here = value - mu * _barrier_value(x, s, k, lo, up, s_range, has_s)
        length = 1.0
        moved = False
        for _ in range(40):
            for a in range(k + 1):
                trial[a] = x[a] + (length * step[a] if a < r else 0.0)
            inside = _barrier_value(trial, trial[k], k, lo, up, s_range, has_s)
            if inside > -np.inf:
                combine(F, trial, r, offset, m)
                new = losses(m, c, p) + _penalty(trial, k, penalties)
                if new - mu * inside <= here + 1e-12 * abs(here):
                    moved = True
                    break
            length *= 0.5
        if not moved:
            combine(F, x, r, offset, m)
            value = losses(m, c, p) + _penalty(x, k, penalties)
            bound = max(bound, node_bound(F, c, m, p, lo, up, s_range, penalties, y, k))
            break
        for a in range(k + 1):
            x[a] = trial[a]
        value = new
    return bound, value, x
