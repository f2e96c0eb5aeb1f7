"""Coordinate descent for min 1/2 a'Qa - 1'a, lower <= a <= upper: the SVM dual without an offset.

Two forms: `linear_descent` keeps w = Z'a (Z holds the rows y_i x_i) and costs O(d) a step, with the shrinking of Hsieh et
al. (2008); `kernel_descent` keeps the gradient, picks the coordinate of largest decrease and costs O(n) a step.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ....arrays import Array
from ....numeric.cholesky_update import REORDER
from ....numeric.random import State, below


@njit(cache=True, fastmath=REORDER)
def linear_descent(
    Z: Array,
    lower: Array,
    upper: Array,
    a: Array,
    w: Array,
    diagonal: Array,
    tolerance: float,
    passes: int,
    random: State,
) -> tuple[int, float]:
    """Sweeps in random order, the work of at most `passes` over all coordinates; returns (passes' worth of work, which is
    `passes` when it ran out, and the largest projected gradient of the last full sweep).

    Stops when the projected gradients of one sweep over all coordinates differ by less than `tolerance`. Rows of zeros
    go straight to their better bound. Sweeps over the few coordinates that are not shrunk count for their share.
    """
    n, d = Z.shape
    order = np.arange(n)
    size = n
    shrink_high = np.inf
    shrink_low = -np.inf
    spread = np.inf
    visits = 0
    while visits < passes * n:
        visits += max(size, 1)
        high = -np.inf
        low = np.inf
        for s in range(size):
            r = s + below(random, size - s)
            order[s], order[r] = order[r], order[s]
        s = 0
        while s < size:
            i = order[s]
            row = Z[i]
            gradient = -1.0
            for c in range(d):
                gradient += row[c] * w[c]
            projected = 0.0
            if a[i] <= lower[i]:
                if gradient > shrink_high:
                    size -= 1
                    order[s], order[size] = order[size], order[s]
                    continue
                if gradient < 0.0:
                    projected = gradient
            elif a[i] >= upper[i]:
                if gradient < shrink_low:
                    size -= 1
                    order[s], order[size] = order[size], order[s]
                    continue
                if gradient > 0.0:
                    projected = gradient
            else:
                projected = gradient
            high = max(high, projected)
            low = min(low, projected)
            if abs(projected) > 1e-14:
                old = a[i]
                new = upper[i] if diagonal[i] <= 0.0 else min(max(old - gradient / diagonal[i], lower[i]), upper[i])
                if new != old:
                    a[i] = new
                    step = new - old
                    for c in range(d):
                        w[c] += step * row[c]
            s += 1
        spread = high - low if size > 0 else 0.0
        if spread <= tolerance:
            if size == n:
                return min(visits // n, passes - 1), max(high, -low)
            size = n
            shrink_high = np.inf
            shrink_low = -np.inf
            continue
        shrink_high = high if high > 0.0 else np.inf
        shrink_low = low if low < 0.0 else -np.inf
    return passes, spread


@njit(cache=True, fastmath=REORDER)
def kernel_descent(
    Q: Array, lower: Array, upper: Array, a: Array, m: Array, diagonal: Array, tolerance: float, steps: int
) -> tuple[int, float]:
    """At most `steps` steps on the coordinate of largest decrease; m = Qa is kept; returns (steps, largest violation).

    Stops when the largest projected gradient is at most `tolerance`.
    """
    n = Q.shape[0]
    for step in range(steps):
        best = -1
        gain = 0.0
        violation = 0.0
        for i in range(n):
            g = 1.0 - m[i]
            room = upper[i] - a[i] if g > 0.0 else a[i] - lower[i]
            size = abs(g)
            if room > 0.0:
                violation = max(violation, size)
                move = min(size / diagonal[i], room) if diagonal[i] > 0.0 else room
                value = move * (size - 0.5 * move * diagonal[i])
                if value > gain:
                    gain = value
                    best = i
        if violation <= tolerance or best < 0:
            return step, violation
        g = 1.0 - m[best]
        full = a[best] + g / diagonal[best] if diagonal[best] > 0.0 else np.sign(g) * np.inf
        new = min(max(full, lower[best]), upper[best])
        change = new - a[best]
        a[best] = new
        row = Q[best]
        for i in range(n):
            m[i] += change * row[i]
    return steps, np.inf
