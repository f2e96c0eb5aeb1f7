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

from ....arrays import Array, Index
from ....kernels.decorator import njit
from ....numeric.random import State, uniform
from ....numeric.vectors import length, sort_by

MOST_BINS = 256  # bins of the histogram, at most: two sums per bin, so that clearing and adding them up stays cheap
NO_RULE = (np.inf, 0.0, 0.0, 1.0)  # what `sweep` answers when nothing reaches the target
SMALLEST = 1e-300  # least divisor: zero lengths give zero or a very large quotient instead of NaN
NO_BREAKPOINT = 3.0  # beyond every breakpoint, which are between -1 and 1
SAME_BREAKPOINT = 1e-11  # breakpoints closer than this are one: no rule is placed between them
ON_ALL = 1e-10  # a row with |a| + |b| below this lies on every rule of the pencil (rows, w and u have length one)

Work = tuple[Array, Index, Index, Array]


def work_arrays(n: int) -> Work:
    """Scratch space of `sweep` for n rows: breakpoints, their bins, the rows sorted, and the histogram.

    After a sweep the histogram's last entry is 1 when rows turned at one breakpoint where the target was in reach.
    """
    n_bins = min(MOST_BINS, max(16, n // 2))
    return np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(2 * n_bins + 2)


@njit(cache=True, fastmath={"reassoc"})  # lets the two sums be vectorised; the order is still the same in every call
def histogram(a: Array, b: Array, weights: Array, work: Work) -> tuple[float, float, float, float]:
    """Breakpoints, their bins and the histogram: bin 2k + 1 sums the rows that turn wrong in bin k, bin 2k the others.

    Rows on all rules go into the last bin but one and add nothing to what is returned: the loss as p -> -1, the weight of
    all rows, and bounds on the loss: no rule v(p) has less than the third or more than the fourth.
    """
    key, bins, _, sums = work
    n = a.shape[0]
    n_bins = sums.shape[0] // 2 - 1
    loss_left, total = 0.0, 0.0
    for i in range(n):
        size = abs(a[i]) + abs(b[i])
        turns_right = b[i] >= 0.0
        key[i] = (-a[i] if turns_right else a[i]) / max(size, SMALLEST)
        weight = weights[i] if size > ON_ALL else 0.0
        loss_left += weight if turns_right else 0.0
        total += weight
    for i in range(n):
        k = 2 * min(int((key[i] + 1.0) * (0.5 * n_bins)), n_bins - 1) + (0 if b[i] >= 0.0 else 1)
        bins[i] = k if abs(a[i]) + abs(b[i]) > ON_ALL else 2 * n_bins
    for k in range(sums.shape[0]):
        sums[k] = 0.0
    for i in range(n):
        sums[bins[i]] += weights[i]
    loss = least = most = loss_left
    for k in range(n_bins):
        fall, rise = sums[2 * k], sums[2 * k + 1]
        low, high = loss - fall, loss + rise
        least = low if low < least else least  # compiled to a selection; min() would mind NaN and take twice as long
        most = high if high > most else most
        loss += rise - fall
    return loss_left, total, least, most


@njit(cache=True)
def sweep(
    a: Array,
    b: Array,
    weights: Array,
    constant: float,
    target: float,
    skip_current: bool,
    state: State,
    work: Work,
) -> tuple[float, float, float, float]:
    """Least loss of a pencil, if it is at most `target`: (loss, p_low, p_high, side).

    Every rule side * v(p) with p_low < p < p_high has that loss (p_high may exceed 1: v(p) = -v(p - 2)). Rows on all
    rules of the pencil (a = b = 0) add nothing; the caller counts them in `constant`. Among equal arcs one is drawn
    at random; with `skip_current` the arc that holds v(0) = w is left out. O(n), plus sorting inside the histogram's
    bins that can reach the target. Loss inf: there is no such rule.
    """
    loss_left, total, least, most = histogram(a, b, weights, work)
    if least + constant <= target or total - most + constant <= target:
        total += 2.0 * constant
        return sweep_bins(b, weights, loss_left + constant, total, target, skip_current, NO_BREAKPOINT, state, work)
    return NO_RULE


@njit(cache=True, inline="always")
def may_reach(sums: Array, k: int, loss: float, total: float, target: float) -> bool:
    """Whether bin k, entered with `loss`, can hold a rule of loss <= target in either orientation."""
    fall, rise = sums[2 * k], sums[2 * k + 1]
    return fall + rise > 0.0 and (loss - fall <= target or total - (loss + rise) <= target)


@njit(cache=True)
def following_breakpoints(n: int, n_bins: int, end: float, work: Work) -> tuple[Array, Index]:
    """(the first breakpoint after each bin, the number of breakpoints in it).

    The last arc ends at `end`; when that is NO_BREAKPOINT, at the first breakpoint of all, which comes back at p + 2.
    """
    key, bins, _, _ = work
    first = np.empty(n_bins)  # smallest breakpoint of each bin; NO_BREAKPOINT: none
    for k in range(n_bins):
        first[k] = NO_BREAKPOINT
    count = np.zeros(n_bins, np.int64)
    for i in range(n):
        k = bins[i] >> 1
        if k < n_bins:
            count[k] += 1
            first[k] = min(first[k], key[i])
    following = np.empty(n_bins)
    upcoming = end
    if end == NO_BREAKPOINT:
        for k in range(n_bins):
            upcoming = min(upcoming, first[k])
        upcoming += 2.0
    for k in range(n_bins - 1, -1, -1):
        following[k] = upcoming
        upcoming = min(upcoming, first[k])
    return following, count


@njit(cache=True)
def sweep_bins(
    b: Array,
    weights: Array,
    loss_left: float,
    total: float,
    target: float,
    skip_current: bool,
    end: float,
    state: State,
    work: Work,
) -> tuple[float, float, float, float]:
    """The second half of `sweep`: sort and walk through the bins that may reach the target; `end` as in `following_breakpoints`."""
    key, bins, order, sums = work
    n = b.shape[0]
    n_bins = sums.shape[0] // 2 - 1
    following, count = following_breakpoints(n, n_bins, end, work)
    wanted = np.zeros(n_bins + 1, np.bool_)
    starts = np.zeros(n_bins + 1, np.int64)
    loss = loss_left
    for k in range(n_bins):
        wanted[k] = may_reach(sums, k, loss, total, target)
        loss += sums[2 * k + 1] - sums[2 * k]
        starts[k + 1] = starts[k] + (count[k] if wanted[k] else 0)
    ends = np.zeros(n_bins + 1, np.int64)
    for k in range(n_bins):
        ends[k] = starts[k]
    for i in range(n):
        k = bins[i] >> 1
        if wanted[k]:
            order[ends[k]] = i
            ends[k] += 1

    best, best_low, best_high, best_side = NO_RULE
    ties = 0
    loss = loss_left
    for k in range(n_bins):
        if not wanted[k]:
            loss += sums[2 * k + 1] - sums[2 * k]
            continue
        sort_by(key, order, starts[k], starts[k + 1])
        for j in range(starts[k], starts[k + 1]):
            i = order[j]
            loss += -weights[i] if b[i] >= 0.0 else weights[i]
            low = key[i]
            high = key[order[j + 1]] if j + 1 < starts[k + 1] else following[k]
            if high - low <= SAME_BREAKPOINT:
                sums[sums.shape[0] - 1] = 1.0
                continue
            for side in (1.0, -1.0):
                value = loss if side > 0.0 else total - loss
                if value > target or value > best:
                    continue
                here = low < 0.0 < high if side > 0.0 else low < 2.0 < high
                if skip_current and here:
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
    v = np.empty(w.shape[0])
    for j in range(w.shape[0]):
        v[j] = side * ((1.0 - abs(p)) * w[j] + p * u[j])
    size = length(v)
    for j in range(w.shape[0]):
        v[j] /= size
    return v


@njit(cache=True)
def loss_of_margins(margins: Array, weights: Array) -> float:
    """Weight of the rows with margin <= 0."""
    loss = 0.0
    for i in range(margins.shape[0]):
        loss += weights[i] * (margins[i] <= 0.0)  # a branch would be guessed wrong half of the time
    return loss
