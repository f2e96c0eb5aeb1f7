"""Coordinate descent for min 1/2 a'Qa - 1'a, lower <= a <= upper: the SVM dual without an offset.

Two forms: `linear_descent` keeps w = Z'a (Z holds the rows y_i x_i) and costs O(d) per step, with the shrinking of Hsieh et
al. (2008); `kernel_descent` keeps the gradient, chooses the coordinate of largest decrease and costs O(n) per step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....arrays import Array, Index
from ....kernels.decorator import njit
from ....numeric.cholesky_update import REORDER
from ....numeric.random import State, below

NO_GRADIENT = 1e-14  # a projected gradient up to this size (the margins it is compared with are about 1) is rounding
# A step of kernel_descent that ends near to the bound ahead ends at the bound: so near that the gradient there is at most this share of the tolerance.
# A multiplier a hair below its bound (C = 1, Q_ii = 1 + ridge) would have room for the least of all gains and still count with its whole gradient, so
# that the descent would go on to full accuracy.
AT_BOUND = 0.1


class MultiplierBounds(NamedTuple):
    """The bounds of the multipliers."""

    lower: Array
    upper: Array


class Shrinking(NamedTuple):
    """A coordinate at its lower bound with a gradient above `high`, or at its upper bound with one below `low`, is left out."""

    high: float
    low: float


@njit(cache=True)
def shuffle(order: Index, size: int, random: State) -> None:
    """Put the first `size` entries into random order."""
    for s in range(size):
        r = s + below(random, size - s)
        order[s], order[r] = order[r], order[s]


@njit(cache=True, fastmath=REORDER)
def sweep(
    Z: Array, box: MultiplierBounds, a: Array, w: Array, diagonal: Array, order: Index, size: int, shrinking: Shrinking
) -> tuple[int, float, float]:  # fmt: skip
    """One step on each of the first `size` coordinates of `order`, in this order; w = Z'a is kept.

    Coordinates that shrinking leaves out go behind the others; returns (coordinates left, largest and smallest projected
    gradient met). The coordinate of a row of zeros goes to its better bound.
    """
    lower, upper = box
    d = Z.shape[1]
    high = -np.inf
    low = np.inf
    s = 0
    while s < size:
        i = order[s]
        row = Z[i]
        gradient = -1.0
        for c in range(d):
            gradient += row[c] * w[c]
        at_lower = a[i] <= lower[i]
        at_upper = not at_lower and a[i] >= upper[i]
        if (at_lower and gradient > shrinking.high) or (at_upper and gradient < shrinking.low):
            size -= 1
            order[s], order[size] = order[size], order[s]
            continue
        projected = gradient
        if (at_lower and gradient >= 0.0) or (at_upper and gradient <= 0.0):
            projected = 0.0
        high = max(high, projected)
        low = min(low, projected)
        if abs(projected) > NO_GRADIENT:
            old = a[i]
            new = upper[i] if diagonal[i] <= 0.0 else min(max(old - gradient / diagonal[i], lower[i]), upper[i])
            if new != old:
                a[i] = new
                step = new - old
                for c in range(d):
                    w[c] += step * row[c]
        s += 1
    return size, high, low


@njit(cache=True)
def linear_descent(
    Z: Array, box: MultiplierBounds, a: Array, w: Array, diagonal: Array, tolerance: float, passes: int, random: State
) -> int:  # fmt: skip
    """Sweeps in random order, with the work of at most `passes` sweeps over all coordinates.

    Stops when the projected gradients of one sweep over all coordinates differ by at most `tolerance`. Returns the passes
    used, which are `passes` when that has not been reached. A sweep over the coordinates that are not shrunk counts for
    their share.
    """
    n = Z.shape[0]
    order = np.arange(n)
    size = n
    shrinking = Shrinking(np.inf, -np.inf)
    visits = 0
    while visits < passes * n:
        visits += max(size, 1)
        shuffle(order, size, random)
        size, high, low = sweep(Z, box, a, w, diagonal, order, size, shrinking)
        spread = high - low if size > 0 else 0.0
        if spread <= tolerance:
            if size == n:
                return min(visits // n, passes - 1)
            size = n
            shrinking = Shrinking(np.inf, -np.inf)
        else:
            shrinking = Shrinking(high if high > 0.0 else np.inf, low if low < 0.0 else -np.inf)
    return passes


@njit(cache=True, fastmath=REORDER)
def kernel_descent(
    Q: Array, box: MultiplierBounds, a: Array, m: Array, diagonal: Array, tolerance: float, steps: int
) -> int:  # fmt: skip
    """At most `steps` steps on the coordinate of largest decrease; m = Qa is kept. Returns the steps used.

    Stops when the largest projected gradient is at most `tolerance`.
    """
    lower, upper = box
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
            return step
        g = 1.0 - m[best]
        ahead = upper[best] if g > 0.0 else lower[best]
        new = ahead
        if diagonal[best] > 0.0:
            full, near = a[best] + g / diagonal[best], AT_BOUND * tolerance / diagonal[best]
            if (ahead - full) * np.sign(g) > near:
                new = full
        change = new - a[best]
        a[best] = new
        row = Q[best]
        for i in range(n):
            m[i] += change * row[i]
    return steps
