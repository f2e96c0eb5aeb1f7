"""Losses of many scorecards that differ in the weight of one feature, for local search.

Where all features are whole numbers, total scores are whole too, and points with equal scores and labels are counted together: a
card is then evaluated in time of the number of different totals instead of points.
"""

from __future__ import annotations

import numpy as np

from ....arrays import Array
from ....kernels.decorator import njit
from .card import best_card

MOST_TOTALS = 4096
"""Totals are counted together when they span at most this many whole numbers."""


@njit(cache=True)
def card_loss(
    t: Array,
    y: Array,
    c: Array,
    s_range: Array,
    b_range: Array,
    whole: bool,
    counted: bool,
    start: Array,
    enough: float,
) -> tuple[float, float, float]:
    """(loss, b, s) of the card with total scores t; `counted` when all totals are whole numbers."""
    n = t.shape[0]
    low, high = t[0], t[0]
    for i in range(n):
        low, high = min(low, t[i]), max(high, t[i])
    if not counted or high - low > MOST_TOTALS or high - low > n:
        return best_card(t, y, c, s_range, b_range, whole, start, enough)
    span = int(high - low) + 1
    sums = np.zeros((2, span))
    for i in range(n):
        sums[1 if y[i] > 0 else 0, int(t[i] - low)] += c[i]
    size = 0
    for side in range(2):
        for k in range(span):
            size += 1 if sums[side, k] > 0.0 else 0
    totals, labels, weights = np.empty(size), np.empty(size), np.empty(size)
    at = 0
    for side in range(2):
        for k in range(span):
            if sums[side, k] > 0.0:
                totals[at], labels[at], weights[at] = low + k, 2.0 * side - 1.0, sums[side, k]
                at += 1
    return best_card(totals, labels, weights, s_range, b_range, whole, start, enough)


@njit(cache=True)
def try_weights(
    t: Array,
    column: Array,
    steps: Array,
    y: Array,
    c: Array,
    s_range: Array,
    b_range: Array,
    whole: bool,
    counted: bool,
    start: Array,
    found: Array,
) -> None:
    """found_k <- (loss, b, s) of the card with total scores t + steps_k column; it holds the loss to be beaten before."""
    trial = np.empty(t.shape[0])
    for k in range(steps.shape[0]):
        for i in range(t.shape[0]):
            trial[i] = t[i] + steps[k] * column[i]
        loss, b, s = card_loss(trial, y, c, s_range, b_range, whole, counted, start, found[k, 0])
        found[k, 0], found[k, 1], found[k, 2] = loss, b, s
