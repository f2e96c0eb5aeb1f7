"""The smooth 0-1 loss of Nguyen & Sanner (2013), section 5, and their search on it (Algorithm 4).

L_K(w) = sum_i c_i / (1 + exp(K m_i)),   m = Z w,   rows z_i = t_i (x_i, 1)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....arrays import Array, Index
from ....kernels.decorator import njit
from ....numeric.vectors import add_multiple, quick_inner, set_multiple
from .exponential import exponential
from .pencil import loss_of_margins

BLOCK = 512  # rows between two looks whether the loss already exceeds its limit
FLAT = 40.0  # 1 / (1 + exp(x)) is 0 or 1 to rounding beyond |x| = FLAT
RATE_STEP = 0.1  # factor between two rates of the backtracking, as in the paper
SLACK = 1e-12  # multiples of eps_step may exceed the radius by rounding
DESCENT, PROBE, DONE = 0, 1, 2  # what comes next, in place[PLACE]
PLACE, COORDINATE, STEP, STEPS, PROBES = 0, 1, 2, 3, 4  # entries of `place`


@njit(cache=True, error_model="numpy")  # a division that could raise would not be vectorised
def smooth_steps(margins: Array, column: Array, step: float, K: float, out: Array) -> None:
    """out <- 1 / (1 + exp(K (margins + step * column)))."""
    for i in range(out.shape[0]):
        x = K * (margins[i] + step * column[i])
        out[i] = 1.0 / (1.0 + exponential(min(max(x, -FLAT), FLAT)))


@njit(cache=True)
def shifted_loss(margins: Array, column: Array, step: float, weights: Array, K: float, limit: float) -> float:
    """L_K at w with one coordinate moved by `step`, O(N); inf as soon as it is sure to exceed `limit`."""
    n = margins.shape[0]
    values = np.empty(min(BLOCK, n))
    total = 0.0
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        smooth_steps(margins[first:last], column[first:last], step, K, values[: last - first])
        total += quick_inner(weights[first:last], values)
        if total > limit:
            return np.inf
    return total


@njit(cache=True)
def smooth_loss(margins: Array, weights: Array, K: float) -> float:
    """L_K of a rule with these margins."""
    return shifted_loss(margins, margins, 0.0, weights, K, np.inf)


@njit(cache=True)
def gradient(columns: Array, margins: Array, weights: Array, K: float, slopes: Array, out: Array) -> None:
    """Gradient of L_K: -K sum_i c_i l_i (1 - l_i) z_i; `columns` is Z transposed, `slopes` is scratch of N entries."""
    smooth_steps(margins, margins, 0.0, K, slopes)
    for i in range(slopes.shape[0]):
        slopes[i] = -K * weights[i] * slopes[i] * (1.0 - slopes[i])
    for j in range(columns.shape[0]):
        out[j] = quick_inner(columns[j], slopes)


@njit(cache=True)
def margins_of(columns: Array, w: Array, out: Array) -> None:
    """out <- Z w, column by column."""
    set_multiple(out, w[0], columns[0])
    for j in range(1, columns.shape[0]):
        add_multiple(out, w[j], columns[j])


class SmoothDescent(NamedTuple):
    """Where the search stands, changed in place: the rule and its margins, the best rule by the 0-1 loss and its loss (one
    entry), and `place`: what comes next (PLACE), which probe (COORDINATE, STEP), and how many descents and probes were made
    (STEPS, PROBES)."""

    w: Array
    margins: Array
    best_w: Array
    best_loss: Array
    place: Index


class Stage(NamedTuple):
    """The constants of Algorithm 4 for one K."""

    K: float
    radius: float
    eps_step: float
    max_rate: float
    min_rate: float
    eps_loss: float
    eps_gradient: float


@njit(cache=True)
def sla_steps(columns: Array, weights: Array, at: SmoothDescent, stage: Stage, budget: int) -> int:
    """Algorithm 4 for up to `budget` passes over the rows, in place; place[PLACE] is DONE when it has ended.

    Stage 1 goes down the gradient, the rate starting at max_rate and divided by ten until L_K falls by eps_loss.
    Stage 2 moves one coordinate at a time by +-eps_step, +-2 eps_step ... up to `radius`; the first probe that lowers
    L_K by eps_loss sends the search back to stage 1, and when none does it ends. The best 0-1 loss seen is kept.
    """
    w, margins, place = at.w, at.margins, at.place
    K, eps_loss = stage.K, stage.eps_loss
    m, n = columns.shape
    g, trial, trial_margins = np.empty(m), np.empty(m), np.empty(n)
    used = 0
    current = smooth_loss(margins, weights, K)
    while place[PLACE] != DONE and used < budget:
        if place[PLACE] == DESCENT:
            gradient(columns, margins, weights, K, trial_margins, g)
            used += 2
            largest = 0.0
            for j in range(m):
                largest = max(largest, abs(g[j]))
            rate = stage.max_rate
            lowered = False
            while rate >= stage.min_rate and largest > stage.eps_gradient:
                for j in range(m):
                    trial[j] = w[j] - rate * g[j]
                margins_of(columns, trial, trial_margins)
                value = smooth_loss(trial_margins, weights, K)
                used += 2
                if current - value >= eps_loss:
                    lowered = True
                    break
                rate *= RATE_STEP
            if lowered:
                set_multiple(w, 1.0, trial)
                set_multiple(margins, 1.0, trial_margins)
                current = value
                keep_best(at, weights)
                place[STEPS] += 1
            else:
                place[PLACE], place[COORDINATE], place[STEP] = PROBE, 0, 1
            continue
        i = place[COORDINATE]
        size = stage.eps_step * ((place[STEP] + 1) // 2)
        step = size if place[STEP] % 2 == 1 else -size
        if i >= m:
            place[PLACE] = DONE
        elif size > stage.radius * (1.0 + SLACK):
            place[COORDINATE], place[STEP] = i + 1, 1
        else:
            value = shifted_loss(margins, columns[i], step, weights, K, current - eps_loss)
            used += 1
            place[PROBES] += 1
            place[STEP] += 1
            if value <= current - eps_loss:
                w[i] += step
                add_multiple(margins, step, columns[i])
                current = value
                keep_best(at, weights)
                place[PLACE] = DESCENT
    return used


@njit(cache=True)
def keep_best(at: SmoothDescent, weights: Array) -> None:
    """Take the present rule as the best one when its 0-1 loss is lower."""
    loss = loss_of_margins(at.margins, weights)
    if loss < at.best_loss[0]:
        at.best_loss[0] = loss
        set_multiple(at.best_w, 1.0, at.w)
