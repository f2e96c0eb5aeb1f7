"""The best offset and multiplier of a scorecard with given weights.

With total scores t_i = w.x_i, v0 = s b and the multiplier 1/s, the loss sum_i c_i log(1 + exp(-y_i (s t_i + v0))) is convex in
(v0, s). The set where it is at most a given value is convex, so its ratios b = v0/s form an interval: the best whole b is one of
the two neighbours of the best real one.
"""

from __future__ import annotations

import numpy as np

from ....arrays import Array
from ....kernels.decorator import njit

MOST_STEPS = 60
"""Newton steps at most."""

ACCURACY = 1e-13
"""A Newton decrement below this fraction of the loss ends the search: the loss is then exact to rounding."""


@njit(cache=True)
def _derivatives(t: Array, y: Array, c: Array, s: float, v0: float, b: float, fixed: bool) -> tuple[float, ...]:
    """(value, g0, gs, h00, h0s, hss); with `fixed` the offset is s b, and g0, h00, h0s are zero."""
    value, g0, gs, h00, h0s, hss = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(t.shape[0]):
        along = t[i] + b if fixed else t[i]
        m = y[i] * (s * along + (0.0 if fixed else v0))
        e = np.exp(-abs(m))
        value += c[i] * (np.log1p(e) + max(-m, 0.0))
        p = (e if m > 0 else 1.0) / (1.0 + e)
        first, second = -c[i] * p * y[i], c[i] * p * (1.0 - p)
        gs += first * along
        hss += second * along * along
        if not fixed:
            g0 += first
            h00 += second
            h0s += second * along
    return value, g0, gs, h00, h0s, hss


@njit(cache=True)
def best_plane(
    t: Array, y: Array, c: Array, s_low: float, s_high: float, v0: float, s: float, enough: float
) -> tuple[float, float, float]:
    """(loss, v0, s) that minimise the loss over real v0 and s_low <= s <= s_high, from a start.

    The search is given up where two more Newton steps do not promise a loss below `enough`; infinity never gives up.
    """
    s = min(max(s, s_low), s_high)
    value, g0, gs, h00, h0s, hss = _derivatives(t, y, c, s, v0, 0.0, False)
    for _ in range(MOST_STEPS):
        held = s_low == s_high or (s <= s_low and gs >= 0.0) or (s >= s_high and gs <= 0.0)
        h00 += 1e-300
        determinant = h00 * hss - h0s * h0s
        if held or determinant <= 1e-14 * h00 * hss:
            d0, ds = -g0 / h00, 0.0
            if not held and hss > 0.0 and gs * gs / hss > g0 * g0 / h00:
                d0, ds = 0.0, -gs / hss
        else:
            d0, ds = (h0s * gs - hss * g0) / determinant, (h0s * g0 - h00 * gs) / determinant
        decrement = -(g0 * d0 + gs * ds)
        if decrement <= ACCURACY * (1.0 + value) or value - 2.0 * decrement > enough:
            break
        length = 1.0
        if s + ds > s_high:
            length = (s_high - s) / ds
        elif s + ds < s_low:
            length = (s_low - s) / ds
        if length <= 0.0:
            d0, ds, length = -g0 / h00, 0.0, 1.0
        moved = False
        for _ in range(50):
            new_s = min(max(s + length * ds, s_low), s_high)
            new_v0 = v0 + length * d0
            new, n0, ns, n00, n0s, nss = _derivatives(t, y, c, new_s, new_v0, 0.0, False)
            if new < value:
                moved = True
                break
            length *= 0.5
        if not moved:
            break
        v0, s = new_v0, new_s
        value, g0, gs, h00, h0s, hss = new, n0, ns, n00, n0s, nss
    return value, v0, s


@njit(cache=True)
def best_scale(t: Array, y: Array, c: Array, b: float, s_low: float, s_high: float, s: float) -> tuple[float, float]:
    """(loss, s) that minimise the loss over s_low <= s <= s_high for a given offset b, by safeguarded Newton."""
    low, high = s_low, s_high
    s = min(max(s, s_low), s_high)
    value, _, gs, _, _, hss = _derivatives(t, y, c, s, 0.0, b, True)
    if s_low == s_high:
        return value, s
    for _ in range(MOST_STEPS):
        if gs > 0.0:
            high = s
        else:
            low = s
        if gs * gs <= ACCURACY * (1.0 + value) * hss or high - low <= 1e-15 * high:
            break
        new = s - gs / hss if hss > 0.0 else 0.5 * (low + high)
        if new <= low:
            new = s_low if low == s_low and s != s_low else 0.5 * (low + s)
        elif new >= high:
            new = s_high if high == s_high and s != s_high else 0.5 * (high + s)
        if new == s:
            break
        s = new
        value, _, gs, _, _, hss = _derivatives(t, y, c, s, 0.0, b, True)
    return value, s


@njit(cache=True)
def best_card(
    t: Array, y: Array, c: Array, s_range: Array, b_range: Array, whole: bool, start: Array, enough: float
) -> tuple[float, float, float]:
    """(loss, b, s) of the best scorecard with total scores t; b is whole if asked for, and within b_range.

    start is (v0, s). Cards that will not have a loss below `enough` may come back with a higher loss than their best one.
    """
    if b_range[0] == b_range[1]:
        value, s = best_scale(t, y, c, b_range[0], s_range[0], s_range[1], start[1])
        return value, b_range[0], s
    value, v0, s = best_plane(t, y, c, s_range[0], s_range[1], start[0], start[1], enough)
    b = v0 / s
    inside = b_range[0] <= b <= b_range[1]
    if (inside and not whole) or value > enough:
        return value, b, s
    below = min(max(np.floor(b) if whole else b, b_range[0]), b_range[1])
    above = min(max(np.ceil(b) if whole else b, b_range[0]), b_range[1])
    first, s_first = best_scale(t, y, c, below, s_range[0], s_range[1], s)
    if above == below:
        return first, below, s_first
    second, s_second = best_scale(t, y, c, above, s_range[0], s_range[1], s)
    if first <= second:
        return first, below, s_first
    return second, above, s_second
