"""Bounds of the robust SVM when every margin lies in a known interval: convex envelopes of the loss, and the dual of their sum.

Minimise    1/2 |w|^2 + sum_i env_i(z_i.w),   z_i = y_i x_i,   env_i: the convex envelope of C_i loss on [low_i, high_i]
Dual        D(alpha) = sum_i e_i(alpha_i) - 1/2 |v|^2,   v = sum_i alpha_i z_i,   e_i(alpha) = min of C_i loss(m) + alpha m over the interval
Ball        Every w with margins in the intervals costs at least D(alpha) + 1/2 |w - v|^2, whatever alpha is. Rules that cost less than a
            target lie in the ball around v of radius sqrt(2 (target - D)), which narrows the intervals.

The envelope has at most four corners: the ends of the interval, s and 1. One sweep of coordinate ascent costs O(n d).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....kernels.decorator import njit
from ....numeric.pivoted_qr import normal_solution

SWEEPS = 10  # sweeps of coordinate ascent before a Newton step; both are a block
RIDGE = 1e-14  # relative ridge of the Newton step's matrix, which is singular when points are dependent
SOLVED = 1e-7  # relative residual of the Newton step's system, of at most d points, from which on its matrix is factored without forming it
BETTER_SOLVED = 0.1  # part of that residual which such a factorisation must leave at most; dependent points leave as much either way
ROOM = 1e-12  # relative room for rounding in a ball's radius and in its margins
FAR = 1e3  # margins further than this times the largest one of the start do not occur in a descent
ENOUGH = 2.0  # multiple of the target from which on D need not grow
FLAT = 1e-14  # gap between a loss and its envelope, relative to the losses around, that is rounding
CONVERGED = 1e-13  # relative gain of a block that is rounding
MOST_INSIDE = 500  # multipliers of one Newton step; with more, its dense system takes longer than the sweeps


@njit(cache=True)
def loss_at(m: float, theta: float, s: float) -> float:
    """The ramp loss of a margin."""
    if m >= s:
        return max(0.0, 1.0 - m)
    return 1.0 - s + theta * (s - m)


@njit(cache=True)
def cost_of(Z: Any, loss: Any, w: Any) -> float:
    """1/2 |w|^2 + sum_i C_i loss(z_i.w)."""
    costs, theta, s = loss
    total, margins = 0.5 * np.dot(w, w), Z @ w
    for i in range(len(costs)):
        total += costs[i] * loss_at(margins[i], theta, s)
    return total


@njit(cache=True)
def envelopes(loss: Any, low: Any, high: Any) -> Any:
    """(margins, values, counts): the corners of each point's convex envelope, from low to high."""
    costs, theta, s = loss
    n = len(costs)
    margins, values, counts = np.zeros((n, 4)), np.zeros((n, 4)), np.zeros(n, np.int64)
    at = np.zeros(4)
    for i in range(n):
        found, k = 1, 0
        at[0] = low[i]
        for inner in (s, 1.0):
            if low[i] < inner < high[i]:
                at[found] = inner
                found += 1
        if high[i] > low[i]:
            at[found] = high[i]
            found += 1
        M, V = margins[i], values[i]
        for t in range(found):
            m, value = at[t], costs[i] * loss_at(at[t], theta, s)
            while k >= 2 and (V[k - 1] - V[k - 2]) * (m - M[k - 2]) >= (value - V[k - 2]) * (M[k - 1] - M[k - 2]):
                k -= 1
            M[k], V[k] = m, value
            k += 1
        counts[i] = k
    return margins, values, counts


@njit(cache=True)
def _range(M: Any, V: Any, count: int, t: int) -> Any:
    """The multipliers for which corner t minimises: from minus the slope on its right to minus the slope on its left."""
    left = np.inf if t == 0 else -(V[t] - V[t - 1]) / (M[t] - M[t - 1])
    right = -np.inf if t == count - 1 else -(V[t + 1] - V[t]) / (M[t + 1] - M[t])
    return right, left


@njit(cache=True)
def dual_value(Z: Any, corners: Any, alpha: Any) -> Any:
    """(D, v) of multipliers."""
    margins, values, counts = corners
    total, v = 0.0, np.zeros(Z.shape[1])
    for i in range(len(Z)):
        least = np.inf
        for t in range(counts[i]):
            least = min(least, values[i, t] + alpha[i] * margins[i, t])
        total += least
        if alpha[i] != 0.0:
            for k in range(len(v)):
                v[k] += alpha[i] * Z[i, k]
    return total - 0.5 * np.dot(v, v), v


@njit(cache=True)
def coordinate_sweep(Z: Any, squares: Any, corners: Any, alpha: Any, v: Any) -> None:
    """Coordinate ascent, each coordinate to its maximum."""
    margins, values, counts = corners
    for i in range(len(Z)):
        if squares[i] == 0.0:
            continue
        m = -alpha[i] * squares[i]
        for k in range(len(v)):
            m += Z[i, k] * v[k]
        new = 0.0
        for t in range(counts[i]):
            right, left = _range(margins[i], values[i], counts[i], t)
            new = (margins[i, t] - m) / squares[i]
            if new > left:
                new = left
                break
            if new >= right:
                break
        if new != alpha[i]:
            for k in range(len(v)):
                v[k] += (new - alpha[i]) * Z[i, k]
            alpha[i] = new


@njit(cache=True)
def inside_ranges(corners: Any, alpha: Any) -> Any:
    """(points, margins, ends): the multipliers strictly inside the range of a corner, the margin of that corner, and the range."""
    margins, values, counts = corners
    n = len(alpha)
    inside, goal, ends, m = np.zeros(n, np.int64), np.zeros(n), np.zeros((n, 2)), 0
    for i in range(n):
        for t in range(counts[i]):
            right, left = _range(margins[i], values[i], counts[i], t)
            if right < alpha[i] < left:
                inside[m], goal[m], ends[m, 0], ends[m, 1] = i, margins[i, t], right, left
                m += 1
                break
    return inside[:m], goal[:m], ends[:m]


@njit(cache=True)
def longest_step(alpha: Any, inside: Any, ends: Any, move: Any) -> float:
    """The part of a move, at most 1, up to the end of the first range."""
    step = 1.0
    for q in range(len(inside)):
        at = alpha[inside[q]]
        if at + move[q] > ends[q, 1]:
            step = min(step, (ends[q, 1] - at) / move[q])
        elif at + move[q] < ends[q, 0]:
            step = min(step, (ends[q, 0] - at) / move[q])
    return step


@njit(cache=True)
def _newton(Z: Any, corners: Any, alpha: Any, v: Any) -> Any:
    """Multipliers moved towards the maximum over those strictly inside the range of a corner, up to the end of the first range."""
    inside, goal, ends = inside_ranges(corners, alpha)
    m = len(inside)
    new = alpha.copy()
    if m == 0 or m > MOST_INSIDE:
        return new
    part = Z[inside]
    missing = goal - part @ v
    for q in range(m):  # equal lengths: without this, short rows would drown in the ridge
        length = np.sqrt(np.dot(part[q], part[q])) + 1e-300
        part[q], missing[q], goal[q] = part[q] / length, missing[q] / length, length
    matrix = part @ part.T
    for q in range(m):
        matrix[q, q] += RIDGE
    move = np.linalg.solve(matrix, missing)
    left = np.abs(missing - part @ (part.T @ move)).max()
    if m <= Z.shape[1] and left > SOLVED * np.abs(missing).max():
        other = normal_solution(part.T.copy(), missing)
        if np.abs(missing - part @ (part.T @ other)).max() < BETTER_SOLVED * left:
            move = other
    move /= goal
    step = longest_step(alpha, inside, ends, move)
    for q in range(m):
        new[inside[q]] += step * move[q]
    return new


@njit(cache=True)
def maximise(Z: Any, squares: Any, corners: Any, alpha: Any, target: float, gain: float, blocks: int) -> Any:
    """(D, v) near the dual's maximum, with alpha changed in place; stops at the target, or when a block gains less than this part of what is missing."""
    best, v = dual_value(Z, corners, alpha)
    for _ in range(blocks):
        before = best
        for _ in range(SWEEPS):
            coordinate_sweep(Z, squares, corners, alpha, v)
        best, v = dual_value(Z, corners, alpha)
        new = _newton(Z, corners, alpha, v)
        value, moved = dual_value(Z, corners, new)
        while (
            value > ENOUGH * target > best
        ):  # no rule is in the node, and D has no maximum: multipliers stay small enough to be rounded
            half = 0.5 * (alpha + new)
            halfway, half_v = dual_value(Z, corners, half)
            if halfway < ENOUGH * target:
                break
            new, value, moved = half, halfway, half_v
        if value > best:
            best, v = value, moved
            alpha[:] = new
        if best >= target or best - before <= max(gain * (target - best), CONVERGED * abs(best)):
            break
    return best, v


@njit(cache=True)
def narrow(Z: Any, norms: Any, low: Any, high: Any, v: Any, square: float) -> bool:
    """Whether no rule is left once the intervals, changed in place, hold only margins of the ball around v with this squared radius."""
    radius = np.sqrt(max(square, 0.0)) * (1 + ROOM)
    size = np.sqrt(np.dot(v, v))
    margins = Z @ v
    for i in range(len(margins)):
        reach = norms[i] * (radius + ROOM * size)
        low[i], high[i] = max(low[i], margins[i] - reach), min(high[i], margins[i] + reach)
        if low[i] > high[i]:
            return True
    return False


@njit(cache=True)
def rounded(Z: Any, corners: Any, alpha: Any, unit: float, most: float) -> Any:
    """(D, v, numbers) of the multipliers rounded to whole multiples of a unit, at most so many."""
    numbers = np.minimum(np.maximum(np.rint(alpha / unit), -most), most)
    value, v = dual_value(Z, corners, numbers * unit)
    return value, v, numbers


@njit(cache=True)
def widest_gap(loss: Any, corners: Any, low: Any, high: Any) -> int:
    """The point whose envelope lies furthest below the loss at s, inside its interval; -1 when every loss is convex on its interval."""
    costs, _, s = loss
    margins, values, counts = corners
    widest, where = 0.0, -1
    for i in range(len(costs)):
        if not low[i] < s < high[i]:
            continue
        for t in range(counts[i] - 1):
            if margins[i, t] <= s <= margins[i, t + 1]:
                share = (s - margins[i, t]) / (margins[i, t + 1] - margins[i, t])
                under = values[i, t] + share * (values[i, t + 1] - values[i, t])
                gap = costs[i] * (1.0 - s) - under
                if gap > widest and gap > FLAT * (values[i, t] + values[i, t + 1]):
                    widest, where = gap, i
    return where


@njit(cache=True)
def hinge_corners(squares: Any, loss: Any, outliers: Any, offset: float) -> Any:
    """Corners of the losses of a step of the concave-convex procedure: that of an outlier is the hinge minus (1 - theta)(s - m)."""
    costs, theta, s = loss
    n = len(costs)
    far = FAR * (1.0 + offset + np.sqrt(2 * costs.sum() * squares.max()))
    margins, values = np.zeros((n, 4)), np.zeros((n, 4))
    for i in range(n):
        slope = 1.0 - theta if outliers[i] else 0.0
        margins[i, 0], margins[i, 1], margins[i, 2] = -far, 1.0, far
        values[i, 0] = costs[i] * (1.0 + far + slope * (-far - s))
        values[i, 1], values[i, 2] = costs[i] * slope * (1.0 - s), costs[i] * slope * (far - s)
    return margins, values, np.full(n, 3)


@njit(cache=True)
def convex_step(Z: Any, squares: Any, loss: Any, outliers: Any, alpha: Any, blocks: int) -> Any:
    """(cost, w) of a step of the concave-convex procedure."""
    _, w = maximise(Z, squares, hinge_corners(squares, loss, outliers, 0.0), alpha, 1e300, 0.0, blocks)
    return cost_of(Z, loss, w), w
