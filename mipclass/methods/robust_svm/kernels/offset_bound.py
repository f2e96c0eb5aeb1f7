"""Bounds of the robust SVM with a free offset b, which has no penalty and lies in a known interval.

Minimise    1/2 |w|^2 + sum_i env_i(z_i.w + y_i b)  over w and low_b <= b <= high_b
Dual        D(alpha) = sum_i e_i(alpha_i) - 1/2 |v|^2 - max(beta low_b, beta high_b),   v = sum_i alpha_i z_i,   beta = sum_i alpha_i y_i
Ascent      D has a kink at beta = 0, where coordinate ascent would stand still. So the sweeps maximise the dual with a proximal term
            1/2 ((b - centre) / t)^2, which is that of rows with one more feature, t y_i; then the centre moves to b, by t^2 beta. The Newton
            steps between the sweeps have b as an unknown and beta = 0 as an equation. While nothing is gained, t grows.
Ball        Every rule of the node costs at least D_0 - beta b + 1/2 |w - v|^2, where D_0 is D without its last term. Rules that cost less than a
            target lie in a ball, and b on one side of (D_0 - target) / beta. Margins, w and b narrow each other's intervals.

Points are the same as in `envelope_bound`, whose envelopes, sweeps and dual values are used. A sweep costs O(n d).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....kernels.decorator import njit
from .envelope_bound import (
    CONVERGED,
    ENOUGH,
    MOST_INSIDE,
    RIDGE,
    ROOM,
    SWEEPS,
    coordinate_sweep,
    dual_value,
    hinge_corners,
    inside_ranges,
    longest_step,
    loss_at,
)

MOST_STALLED = 5  # blocks in a row without a gain, after which the ascent ends although b moves
NEWTON_STEPS = 10  # Newton steps of a block, while each ends at the end of a range
LONGER = 3.0  # growth of t after a block without a gain
SAME_OFFSET = 1e-12  # change of b in a block, relative to 1 + |b|, that is rounding


@njit(cache=True)
def cost_with_offset(Z: Any, y: Any, loss: Any, w: Any, b: float) -> float:
    """1/2 |w|^2 + sum_i C_i loss(z_i.w + y_i b)."""
    costs, theta, s = loss
    total, margins = 0.5 * np.dot(w, w), Z @ w
    for i in range(len(costs)):
        total += costs[i] * loss_at(margins[i] + y[i] * b, theta, s)
    return total


@njit(cache=True)
def best_offset(Z: Any, y: Any, loss: Any, w: Any) -> Any:
    """(cost, b): the best offset of given weights. The cost is piecewise linear in b, with kinks where a margin is s or 1. O(n^2)."""
    costs, theta, s = loss
    margins = Z @ w
    least, best = np.inf, 0.0
    for k in range(2 * len(costs)):
        b = y[k // 2] * ((s if k % 2 else 1.0) - margins[k // 2])
        total = 0.0
        for i in range(len(costs)):
            total += costs[i] * loss_at(margins[i] + y[i] * b, theta, s)
            if total >= least:
                break
        if total < least:
            least, best = total, b
    return least + 0.5 * np.dot(w, w), best


@njit(cache=True)
def value_with_offset(Z: Any, y: Any, corners: Any, alpha: Any, low: float, high: float) -> Any:
    """(D, v, beta) of multipliers when b lies between low and high."""
    value, v = dual_value(Z, corners, alpha)
    beta = np.dot(y, alpha)
    return value - max(beta * low, beta * high), v, beta


@njit(cache=True)
def _newton(Z: Any, y: Any, corners: Any, alpha: Any, v: Any, b: float, moves: bool) -> Any:
    """(multipliers, b, step) moved towards the maximum over those strictly inside the range of a corner, up to the end of the first range.

    When b moves, the new multipliers have beta = 0.
    """
    inside, goal, ends = inside_ranges(corners, alpha)
    m = len(inside)
    new = alpha.copy()
    if m == 0 or m > MOST_INSIDE:
        return new, b, 0.0
    part = Z[inside]
    matrix, right = np.zeros((m + 1, m + 1)), np.zeros(m + 1)
    lengths = np.zeros(m)
    for q in range(m):
        i = inside[q]
        lengths[q] = np.sqrt(np.dot(part[q], part[q])) or 1.0
        right[q] = (goal[q] - np.dot(part[q], v) - y[i] * b) / lengths[q]
        part[q] = part[q] / lengths[q]
        matrix[q, m] = matrix[m, q] = y[i] / lengths[q] if moves else 0.0
    matrix[:m, :m] = part @ part.T
    for q in range(m):
        matrix[q, q] += RIDGE
    matrix[m, m] = 0.0 if moves else 1.0
    right[m] = -np.dot(y, alpha) if moves else 0.0
    found = np.linalg.solve(matrix, right)
    move = found[:m] / lengths
    step = longest_step(alpha, inside, ends, move)
    for q in range(m):
        new[inside[q]] += step * move[q]
    return new, b + step * found[m], step


@njit(cache=True)
def maximise_with_offset(
    Z: Any, y: Any, squares: Any, corners: Any, alpha: Any, ends: Any, target: float, gain: float, blocks: int
) -> Any:
    """(D, v, b) near the dual's maximum, with alpha changed in place.

    ends : (first b, lowest, highest, first t).
    """
    b, low, high, t = ends
    d, n = Z.shape[1], len(Z)
    rows = np.zeros((n, d + 1))
    rows[:, :d], rows[:, d] = Z, t * y
    now, best_alpha = alpha.copy(), alpha.copy()
    best, best_v, beta = value_with_offset(Z, y, corners, alpha, low, high)
    v, best_b, stalled = best_v.copy(), b, 0
    lifted_v = np.zeros(d + 1)
    for _ in range(blocks):
        before, before_b = best, b
        lifted_v[:d], lifted_v[d] = v, b / t + t * beta
        for _ in range(SWEEPS):
            coordinate_sweep(rows, squares + t * t, corners, now, lifted_v)
        b = min(max(t * lifted_v[d], low), high)
        value, v, beta = value_with_offset(Z, y, corners, now, low, high)
        for _ in range(NEWTON_STEPS):
            moves = not ((b >= high and beta > 0) or (b <= low and beta < 0))
            new, moved_b, step = _newton(Z, y, corners, now, v, b, moves)
            moved, moved_v, moved_beta = value_with_offset(Z, y, corners, new, low, high)
            while moved > ENOUGH * target > value:
                half = 0.5 * (now + new)
                halfway, half_v, half_beta = value_with_offset(Z, y, corners, half, low, high)
                if halfway < ENOUGH * target:
                    break
                new, moved, moved_v, moved_beta, step = half, halfway, half_v, half_beta, 1.0
            if moved <= value:
                break
            value, now, v, beta, b = moved, new, moved_v, moved_beta, min(max(moved_b, low), high)
            if step >= 1.0:
                break
        if value > best:
            best, best_v, best_b = value, v, b
            best_alpha[:] = now
        if best >= target:
            break
        stalled += 1
        if best - before > max(gain * (target - best), CONVERGED * abs(best)):
            stalled = 0
        elif stalled == MOST_STALLED or abs(b - before_b) <= SAME_OFFSET * (1.0 + abs(b)):
            break
        else:
            t *= LONGER
            rows[:, d] *= LONGER
    for i in range(n):
        alpha[i] = best_alpha[i]
    return best, best_v, best_b


@njit(cache=True)
def rounded_with_offset(
    Z: Any, y: Any, corners: Any, alpha: Any, low: float, high: float, unit: float, most: float
) -> Any:
    """(D, v, beta, numbers) of the multipliers rounded to whole multiples of a unit, at most so many, with beta rounded once."""
    numbers = np.minimum(np.maximum(np.rint(alpha / unit), -most), most)
    excess = np.dot(y, numbers) - np.rint(np.dot(y, alpha) / unit)
    for i in range(len(y)):
        if excess > 0.0 and y[i] * (numbers[i] - alpha[i] / unit) > 0.0:
            numbers[i] -= y[i]
            excess -= 1.0
        elif excess < 0.0 and y[i] * (numbers[i] - alpha[i] / unit) < 0.0:
            numbers[i] += y[i]
            excess += 1.0
    value, v, beta = value_with_offset(Z, y, corners, numbers * unit, low, high)
    return value, v, beta, numbers


@njit(cache=True)
def narrow_with_offset(
    Z: Any, y: Any, norms: Any, low: Any, high: Any, v: Any, beta: float, value: float, target: float
) -> bool:
    """Whether no rule below the target is left; intervals, changed in place, hold the margins and, last, b."""
    n = len(y)
    first, last = low[n], high[n]
    missing = max(target - value, 0.0)  # target - D, with D_0 = D + max(beta first, beta last)
    if beta > 0.0:
        first = max(first, last - missing / beta * (1 + ROOM) - ROOM * abs(last))
    elif beta < 0.0:
        last = min(last, first - missing / beta * (1 + ROOM) + ROOM * abs(first))
    radius = np.sqrt(2.0 * missing) * (1 + ROOM)
    size = np.sqrt(np.dot(v, v))
    margins = Z @ v
    for i in range(n):
        reach = norms[i] * (radius + ROOM * size)
        least, most = low[i] - margins[i] - reach, high[i] - margins[i] + reach  # of y_i b
        if y[i] > 0:
            first, last = max(first, least), min(last, most)
        else:
            first, last = max(first, -most), min(last, -least)
    if first > last:
        return True
    low[n], high[n] = first, last
    for i in range(n):
        reach = norms[i] * (radius + ROOM * size)
        least, most = (first, last) if y[i] > 0 else (-last, -first)
        low[i], high[i] = max(low[i], margins[i] - reach + least), min(high[i], margins[i] + reach + most)
        if low[i] > high[i]:
            return True
    return False


@njit(cache=True)
def convex_step_with_offset(
    Z: Any, y: Any, squares: Any, loss: Any, outliers: Any, alpha: Any, ends: Any, blocks: int
) -> Any:
    """(cost, w, b) of a step of the concave-convex procedure, b being the best offset of w."""
    corners = hinge_corners(squares, loss, outliers, abs(ends[1]) + abs(ends[2]))
    _, w, _ = maximise_with_offset(Z, y, squares, corners, alpha, ends, 1e300, 0.0, blocks)
    cost, b = best_offset(Z, y, loss, w)
    return cost, w, b
