"""The smooth 0-1 loss of Nguyen & Sanner (2013), section 5, and their search on it (Algorithm 4).

L_K(w) = sum_i c_i / (1 + exp(K m_i)),   m = Z w,   rows z_i = t_i (x_i, 1)
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .pencil import loss_of_margins
from .vectors import Array, Indices, row_products, set_multiple

BLOCK = 128
DESCENT, PROBE, DONE = 0, 1, 2  # what comes next in `place`
PLACE, COORDINATE, STEP, STEPS, PROBES = 0, 1, 2, 3, 4


@njit(cache=True)
def smooth_loss(margins: Array, weights: Array, K: float) -> float:
    total = 0.0
    for i in range(margins.shape[0]):
        total += smooth_step(K * margins[i]) * weights[i]
    return total


@njit(cache=True, inline="always")
def smooth_step(x: float) -> float:
    """1 / (1 + exp(x)), without overflow and without exp where it is 0 or 1 to rounding."""
    if x > 37.0:
        return 0.0
    if x < -37.0:
        return 1.0
    return 1.0 / (1.0 + np.exp(x))


@njit(cache=True)
def gradient(Z: Array, margins: Array, weights: Array, K: float, out: Array) -> None:
    """Gradient of L_K: -K sum_i c_i l_i (1 - l_i) z_i."""
    set_multiple(out, 0.0, out)
    for i in range(Z.shape[0]):
        l = smooth_step(K * margins[i])
        c = -K * weights[i] * l * (1.0 - l)
        if c != 0.0:
            for j in range(Z.shape[1]):
                out[j] += c * Z[i, j]


@njit(cache=True)
def shifted_loss(margins: Array, column: Array, step: float, weights: Array, K: float, limit: float) -> float:
    """L_K at w with one coordinate moved by `step`, O(N); inf as soon as it is sure to exceed `limit`."""
    n = margins.shape[0]
    total = 0.0
    for start in range(0, n, BLOCK):
        for i in range(start, min(n, start + BLOCK)):
            total += smooth_step(K * (margins[i] + step * column[i])) * weights[i]
        if total > limit:
            return np.inf
    return total


@njit(cache=True)
def sla_steps(
    Z: Array,
    columns: Array,
    weights: Array,
    w: Array,
    margins: Array,
    best_w: Array,
    best_loss: Array,
    place: Indices,
    K: float,
    radius: float,
    eps_step: float,
    max_rate: float,
    min_rate: float,
    eps_loss: float,
    eps_gradient: float,
    budget: int,
) -> int:
    """Algorithm 4 for up to `budget` passes over the rows, in place; place[PLACE] is DONE when it has ended.

    Stage 1 goes down the gradient, the rate starting at max_rate and divided by ten until L_K falls by eps_loss.
    Stage 2 moves one coordinate at a time by +-eps_step, +-2 eps_step ... up to `radius`; the first probe that lowers
    L_K by eps_loss sends the search back to stage 1, and when none does it ends. The best 0-1 loss seen is kept.
    """
    n, m = Z.shape
    g, trial, trial_margins = np.empty(m), np.empty(m), np.empty(n)
    used = 0
    current = smooth_loss(margins, weights, K)
    while place[PLACE] != DONE and used < budget:
        if place[PLACE] == DESCENT:
            gradient(Z, margins, weights, K, g)
            used += 2
            largest = 0.0
            for j in range(m):
                largest = max(largest, abs(g[j]))
            rate = max_rate
            lowered = False
            while rate >= min_rate and largest > eps_gradient:
                for j in range(m):
                    trial[j] = w[j] - rate * g[j]
                row_products(Z, trial, trial_margins)
                value = smooth_loss(trial_margins, weights, K)
                used += 2
                if current - value >= eps_loss:
                    lowered = True
                    break
                rate *= 0.1
            if lowered:
                set_multiple(w, 1.0, trial)
                set_multiple(margins, 1.0, trial_margins)
                current = value
                keep_best(w, margins, weights, best_w, best_loss)
                place[STEPS] += 1
            else:
                place[PLACE], place[COORDINATE], place[STEP] = PROBE, 0, 1
            continue
        i = place[COORDINATE]
        size = eps_step * ((place[STEP] + 1) // 2)
        step = size if place[STEP] % 2 == 1 else -size
        if i >= m:
            place[PLACE] = DONE
        elif size > radius * (1.0 + 1e-12):
            place[COORDINATE], place[STEP] = i + 1, 1
        else:
            value = shifted_loss(margins, columns[i], step, weights, K, current - eps_loss)
            used += 1
            place[PROBES] += 1
            place[STEP] += 1
            if value <= current - eps_loss:
                w[i] += step
                for k in range(n):
                    margins[k] += step * columns[i, k]
                current = value
                keep_best(w, margins, weights, best_w, best_loss)
                place[PLACE] = DESCENT
    return used


@njit(cache=True)
def keep_best(w: Array, margins: Array, weights: Array, best_w: Array, best_loss: Array) -> None:
    loss = loss_of_margins(margins, weights)
    if loss < best_loss[0]:
        best_loss[0] = loss
        set_multiple(best_w, 1.0, w)
