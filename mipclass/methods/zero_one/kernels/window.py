"""The rules of a pencil that lie near a given rule, judged by the rows near its hyperplane alone.

Let all rows and rules have length one, let c be a rule, and let |z_i.c| >= sin(theta) for every row outside a set of rows, the
band. A rule within the angle theta of c has the rows outside the band on the same sides as c, so its loss is the loss of the band
plus a constant. On a pencil v(p) = (1 - |p|) w + p u with orthonormal w and u these rules are one interval of p, the window:

    v at the angle phi from w has   c.v = R cos(phi - phi_0),   R^2 = (c.w)^2 + (c.u)^2,   tan(phi_0) = c.u / c.w,

and lies in the window when |phi - phi_0| <= arccos(cos(theta) / R). O(rows of the band) for each pencil.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....arrays import Array
from ....kernels.decorator import njit
from ....numeric.random import State
from ....numeric.vectors import inner
from .pencil import NO_RULE, ON_ALL, SMALLEST, Work, sweep, sweep_bins

STEEPEST = 1.5  # largest angle from w in a window, below a right angle: p stays between -1 and 1
EVERYWHERE = -2.0  # a cosine below every other: rules are searched for on the whole circle
WIDE_KICK = 0.1  # length of the longest kick off a rule when rules are searched for everywhere


class Band(NamedTuple):
    """Where rules may be searched for: within the angle arccos(cosine) of the rule `centre`.

    outside : the loss of the rows that are not in the band.   kick : length of the longest random step off a rule.
    """

    centre: Array
    cosine: float
    outside: float
    kick: float


def whole_circle(m: int) -> Band:
    """No restriction: the rows searched over are all rows."""
    return Band(np.zeros(m), EVERYWHERE, 0.0, WIDE_KICK)


@njit(cache=True)
def is_inside(band: Band, v: Array) -> bool:
    """Whether the rule v, of length one, may be reached."""
    return band.cosine == EVERYWHERE or inner(band.centre, v) > band.cosine


@njit(cache=True)
def window(band: Band, w: Array, u: Array) -> tuple[float, float]:
    """(lowest, highest) p of the rules v(p) inside the band, w and u being orthonormal; equal when there is none."""
    along, across = inner(band.centre, w), inner(band.centre, u)
    size = np.sqrt(along * along + across * across)
    if size <= band.cosine:
        return 0.0, 0.0
    middle, half = np.arctan2(across, along), np.arccos(band.cosine / size)
    low = np.tan(min(max(middle - half, -STEEPEST), STEEPEST))
    high = np.tan(min(max(middle + half, -STEEPEST), STEEPEST))
    return low / (1.0 + abs(low)), high / (1.0 + abs(high))


@njit(cache=True, fastmath={"reassoc"})  # lets the sum be vectorised; the order is still the same in every call
def window_histogram(a: Array, b: Array, weights: Array, low: float, high: float, work: Work) -> tuple[float, float]:
    """`pencil.histogram` over the breakpoints between low and high: (loss as p -> low, a lower bound on the loss in the window).

    Rows that do not turn in the window share a bin with those on all rules, behind the last.
    """
    key, bins, _, sums = work
    n_bins = sums.shape[0] // 2 - 1
    scale = n_bins / (high - low)
    loss_left = 0.0
    for i in range(a.shape[0]):
        size = abs(a[i]) + abs(b[i])
        turns_right = b[i] >= 0.0
        key[i] = (-a[i] if turns_right else a[i]) / max(size, SMALLEST)
        is_wrong_left = turns_right if key[i] > low else not turns_right
        loss_left += weights[i] if is_wrong_left and size > ON_ALL else 0.0
    for i in range(a.shape[0]):
        k = 2 * min(int((key[i] - low) * scale), n_bins - 1) + (0 if b[i] >= 0.0 else 1)
        turns = low < key[i] < high and abs(a[i]) + abs(b[i]) > ON_ALL
        bins[i] = k if turns else 2 * n_bins
    for k in range(sums.shape[0]):
        sums[k] = 0.0
    for i in range(a.shape[0]):
        sums[bins[i]] += weights[i]
    loss = least = loss_left
    for k in range(n_bins):
        least = min(least, loss - sums[2 * k])
        loss += sums[2 * k + 1] - sums[2 * k]
    return loss_left, least


@njit(cache=True)
def sweep_inside(
    a: Array,
    b: Array,
    weights: Array,
    constant: float,
    target: float,
    skip_current: bool,
    band: Band,
    w: Array,
    u: Array,
    state: State,
    work: Work,
) -> tuple[float, float, float, float]:
    """`pencil.sweep` over the rules of the pencil of w and u inside the band: (loss, p_low, p_high, side), the side being 1.

    Without a restriction it is the sweep of the whole circle.
    """
    if band.cosine == EVERYWHERE:
        return sweep(a, b, weights, constant, target, skip_current, state, work)
    low, high = window(band, w, u)
    if high <= low:
        return NO_RULE
    constant += band.outside
    loss_left, least = window_histogram(a, b, weights, low, high, work)
    if least + constant > target:
        return NO_RULE
    # The opposite rules are far outside the band: an infinite total weight excludes them.
    return sweep_bins(b, weights, loss_left + constant, np.inf, target, skip_current, high, state, work)
