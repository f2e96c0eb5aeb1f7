"""The 0-1 loss on a whole pencil of hyperplanes at once.

A pencil is the circle of homogeneous rules v(p) = (1 - |p|) w + p u, p in [-1, 1], and their opposites: with
a = Z w and b = Z u the margin of row i is (1 - |p|) a_i + p b_i, which changes sign once, at

    p_i = -a_i sign(b_i) / (|a_i| + |b_i|).

One pass over the sorted p_i gives the loss of every rule of the pencil; the opposite rule -v has the loss (sum of
weights) - loss. No sort is needed when a histogram of the p_i already shows that nothing in the pencil reaches the
target, which is the usual case in a search near an optimum.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .random import State, uniform

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

BINS = 256
NO_RULE = (np.inf, 0.0, 0.0, 1.0)
SAME_BREAKPOINT = 1e-11  # breakpoints closer than this are one: no rule is placed between them
ON_ALL = 1e-10  # a row with |a| + |b| below this lies on every rule of the pencil (rows, w and u have length one)


@njit(cache=True)
def work_arrays(n: int) -> tuple[Array, Indices, Indices, Array]:
    """Scratch space of `sweep` for n rows: breakpoints, their bins, the bins sorted, and per-bin sums."""
    return np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64), np.empty((4, BINS))


@njit(cache=True)
def sort_by(key: Array, order: Indices, start: int, stop: int) -> None:
    """Sort order[start:stop] by key, in place: insertion for short runs, else by argsort."""
    if stop - start > 40:
        part = order[start:stop].copy()
        order[start:stop] = part[np.argsort(key[part])]
        return
    for i in range(start + 1, stop):
        row = order[i]
        value = key[row]
        j = i - 1
        while j >= start and key[order[j]] > value:
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = row


@njit(cache=True)
def sweep(
    a: Array,
    b: Array,
    weights: Array,
    constant: float,
    target: float,
    skip_current: bool,
    state: State,
    work: tuple[Array, Indices, Indices, Array],
) -> tuple[float, float, float, float]:
    """Least loss of a pencil, if it is at most `target`: (loss, p_low, p_high, side).

    Every rule side * v(p) with p_low < p < p_high has that loss (p_high may exceed 1: v(p) = -v(p - 2)). Rows on all
    rules of the pencil (a = b = 0) add nothing; the caller counts them in `constant`. Among equal arcs one is drawn
    at random; with `skip_current` the arc that holds v(0) = w is left out. O(n), plus sorting inside the histogram's
    bins that can reach the target. Loss inf: there is no such rule.
    """
    n = a.shape[0]
    key, bins, order, sums = work
    fall, rise, first, count = sums[0], sums[1], sums[2], sums[3]
    for k in range(BINS):
        fall[k] = 0.0
        rise[k] = 0.0
        first[k] = 3.0
        count[k] = 0.0
    loss_left = constant  # of v(p) as p -> -1
    total = 2.0 * constant
    for i in range(n):
        size = abs(a[i]) + abs(b[i])
        if size <= ON_ALL:
            bins[i] = -1
            continue
        total += weights[i]
        if b[i] >= 0.0:
            p = -a[i] / size
            k = min(int((p + 1.0) * (0.5 * BINS)), BINS - 1)
            fall[k] += weights[i]
            loss_left += weights[i]
        else:
            p = a[i] / size
            k = min(int((p + 1.0) * (0.5 * BINS)), BINS - 1)
            rise[k] += weights[i]
        key[i] = p
        bins[i] = k
        count[k] += 1.0
        first[k] = min(first[k], p)

    # Which bins can hold a rule of loss <= target, in either orientation?
    loss = loss_left
    wanted = 0
    for k in range(BINS):
        hopeless = loss - fall[k] > target and total - (loss + rise[k]) > target
        loss += rise[k] - fall[k]
        if hopeless or count[k] == 0.0:
            count[k] = -count[k]
        else:
            wanted += 1
    if wanted == 0:
        return NO_RULE

    # Place the rows of those bins in order; rows of the others stay out.
    starts = np.zeros(BINS + 1, np.int64)
    for k in range(BINS):
        starts[k + 1] = starts[k] + (int(count[k]) if count[k] > 0.0 else 0)
    ends = starts[:BINS].copy()
    for i in range(n):
        k = bins[i]
        if k >= 0 and count[k] > 0.0:
            order[ends[k]] = i
            ends[k] += 1

    best, best_low, best_high, best_side = NO_RULE
    ties = 0
    # The first breakpoint of all comes back at p + 2, where the arc after the last one ends.
    following = np.empty(BINS)
    upcoming = 3.0
    for k in range(BINS):
        if count[k] != 0.0:
            upcoming = first[k] + 2.0
            break
    for k in range(BINS - 1, -1, -1):
        following[k] = upcoming
        if count[k] != 0.0:
            upcoming = first[k]
    loss = loss_left
    for k in range(BINS):
        if count[k] <= 0.0:
            loss += rise[k] - fall[k]
            continue
        sort_by(key, order, starts[k], starts[k + 1])
        for j in range(starts[k], starts[k + 1]):
            i = order[j]
            loss += -weights[i] if b[i] >= 0.0 else weights[i]
            low = key[i]
            high = key[order[j + 1]] if j + 1 < starts[k + 1] else following[k]
            if high - low <= SAME_BREAKPOINT:
                continue
            for side in (1.0, -1.0):
                value = loss if side > 0.0 else total - loss
                if value > target or value > best:
                    continue
                if skip_current and (
                    (side > 0.0 and low < 0.0 and high > 0.0) or (side < 0.0 and low < 2.0 and high > 2.0)
                ):
                    continue
                ties = 1 if value < best else ties + 1
                if value < best or uniform(state) * ties < 1.0:
                    best, best_low, best_high, best_side = value, low, high, side
    return best, best_low, best_high, best_side


@njit(cache=True)
def rule_at(p: float, side: float, w: Array, u: Array) -> Array:
    """side * v(p), of length one; p up to 3 (v(p) = -v(p - 2))."""
    if p > 1.0:
        p -= 2.0
        side = -side
    v = side * ((1.0 - abs(p)) * w + p * u)
    return v / np.sqrt(np.dot(v, v))


@njit(cache=True)
def loss_of_margins(margins: Array, weights: Array) -> float:
    """Weight of the rows with margin <= 0."""
    loss = 0.0
    for i in range(margins.shape[0]):
        if margins[i] <= 0.0:
            loss += weights[i]
    return loss
