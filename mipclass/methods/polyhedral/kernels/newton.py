"""Per-point arithmetic of the polyhedral interior point: arrays in, arrays out, one pass over the points each.

A point carries a height t >= 0, slacks s_j = t - e_j > 0 for its errors e_j (one column per hyperplane that it is measured
against) and multipliers x_j, x_0 of s_j >= 0 and t >= 0 that sum to the point's weight. Eliminating the point from
Newton's equations leaves the h x h matrix diag(w) - w w'/W with w_j = x_j/s_j and W = x_0/t + sum_j w_j.
All arrays are C-contiguous float64; nothing is validated. Each function costs O(points * columns).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....arrays import Array
from ....kernels.decorator import njit


class PointState(NamedTuple):
    """Slacks (points x columns), heights, multipliers of the slacks and of the heights; or the directions of all four."""

    slack: Array
    height: Array
    mult: Array
    mult0: Array


@njit(cache=True)
def condense(state: PointState, out: Array) -> None:
    """out[pair, i] = (diag(w) - w w'/W)[j, j'] of point i for the pairs j <= j' in row order."""
    slack, height, mult, mult0 = state
    points, width = slack.shape
    w = np.empty(width)
    for i in range(points):
        total = mult0[i] / height[i]
        for j in range(width):
            w[j] = mult[i, j] / slack[i, j]
            total += w[j]
        pair = 0
        for j in range(width):
            # w_j - w_j^2 / W without cancellation: w_j (W - w_j) / W, W - w_j summed afresh.
            rest = mult0[i] / height[i]
            for other in range(width):
                if other != j:
                    rest += w[other]
            out[pair, i] = w[j] * (rest / total)
            pair += 1
            for other in range(j + 1, width):
                out[pair, i] = -w[j] * (w[other] / total)
                pair += 1


@njit(cache=True)
def right_hand_side(
    state: PointState, target: float, correct: bool, change: PointState, eta: Array, rho_sum: Array
) -> None:
    """Complementarity residuals c/s after elimination of the point: eta_j = rho_j - w_j sum(rho)/W.

    c_j = target - s_j x_j, less the predictor's second-order term ds_j dx_j when `correct`.
    rho_sum keeps sum(rho), the height's own pair included; the direction needs it.
    """
    slack, height, mult, mult0 = state
    dslack, dheight, dmult, dmult0 = change
    points, width = slack.shape
    for i in range(points):
        c = target - height[i] * mult0[i]
        if correct:
            c -= dheight[i] * dmult0[i]
        total_w = mult0[i] / height[i]
        total_rho = c / height[i]
        for j in range(width):
            c = target - slack[i, j] * mult[i, j]
            if correct:
                c -= dslack[i, j] * dmult[i, j]
            eta[i, j] = c / slack[i, j]
            total_rho += eta[i, j]
            total_w += mult[i, j] / slack[i, j]
        rho_sum[i] = total_rho
        for j in range(width):
            eta[i, j] -= mult[i, j] / slack[i, j] * (total_rho / total_w)


@njit(cache=True)
def direction(state: PointState, derror: Array, eta: Array, rho_sum: Array, change: PointState) -> tuple[float, float]:
    """Directions of heights, slacks and multipliers from that of the errors; the longest primal and dual steps."""
    slack, height, mult, mult0 = state
    dslack, dheight, dmult, dmult0 = change
    points, width = slack.shape
    primal = np.inf
    dual = np.inf
    for i in range(points):
        w0 = mult0[i] / height[i]
        total_w = w0
        pull = 0.0
        for j in range(width):
            w = mult[i, j] / slack[i, j]
            total_w += w
            pull += w * derror[i, j]
        dt = (rho_sum[i] + pull) / total_w
        dheight[i] = dt
        if dt < 0.0:
            primal = min(primal, -height[i] / dt)
        mean_rho = rho_sum[i] / total_w
        balance = 0.0
        for j in range(width):
            w = mult[i, j] / slack[i, j]
            ds = dt - derror[i, j]
            dx = eta[i, j] + w * mean_rho - w * ds
            dslack[i, j] = ds
            dmult[i, j] = dx
            balance += dx
            if ds < 0.0:
                primal = min(primal, -slack[i, j] / ds)
            if dx < 0.0:
                dual = min(dual, -mult[i, j] / dx)
        dx0 = -balance
        dmult0[i] = dx0
        if dx0 < 0.0:
            dual = min(dual, -mult0[i] / dx0)
    return primal, dual


@njit(cache=True)
def complementarity(state: PointState, primal: float, dual: float, change: PointState) -> float:
    """sum of (s + primal ds)(x + dual dx) over all pairs."""
    slack, height, mult, mult0 = state
    dslack, dheight, dmult, dmult0 = change
    points, width = slack.shape
    total = 0.0
    for i in range(points):
        total += (height[i] + primal * dheight[i]) * (mult0[i] + dual * dmult0[i])
        for j in range(width):
            total += (slack[i, j] + primal * dslack[i, j]) * (mult[i, j] + dual * dmult[i, j])
    return total


@njit(cache=True)
def move(state: PointState, primal: float, dual: float, change: PointState) -> None:
    """Take the step in place: s + primal ds and x + dual dx."""
    slack, height, mult, mult0 = state
    dslack, dheight, dmult, dmult0 = change
    points, width = slack.shape
    for i in range(points):
        height[i] += primal * dheight[i]
        mult0[i] += dual * dmult0[i]
        for j in range(width):
            slack[i, j] += primal * dslack[i, j]
            mult[i, j] += dual * dmult[i, j]
