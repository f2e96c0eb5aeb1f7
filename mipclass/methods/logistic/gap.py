"""The dual of logistic regression: a lower bound from any probabilities, recomputed from the data.

    P(x) = sum_i c_i log(1 + exp(-z_i.x)) + sum_j (l1_j |x_j| + l2_j x_j^2)     over lower <= x <= upper
    P(x) >= D(p) = sum_i c_i H(p_i) + sum_j min_{x_j} (l1_j |x_j| + l2_j x_j^2 - u_j x_j),   u = sum_i c_i p_i z_i

for all 0 <= p_i <= 1, with the entropy H. Where x_j is unbounded and has no l2, the minimum is finite only for |u_j| <= l1_j: the
p are moved until this holds, by one Newton step for coordinates without any penalty and by a factor for the others.
"""

from __future__ import annotations

import numpy as np
from scipy.special import entr

from ...arrays import Array, Mask
from .design import Design

ROUNDING = 1e-12
"""u_j counts as zero up to this fraction of the sum of the sizes of its addends, which rounding alone may leave."""


def lower_bound(design: Design, p: Array) -> float:
    """D(p), after p has been moved to where it is finite; -inf when that fails."""
    free = design.is_unbounded & (design.l2 == 0)
    bare = free & (design.l1 == 0)
    if bare.any():
        p = _balanced(design, p, bare)
    u = design.transposed(design.c * p)
    ratio = float(np.max(np.abs(u[free & ~bare]) / design.l1[free & ~bare], initial=0.0))
    if ratio > 1.0:
        # Scaled p stay balanced, and |u_j| <= l1_j then.
        p, u = p / ratio, u / ratio
    if bare.any() and (np.abs(u[bare]) > ROUNDING * design.sizes(design.c * p, np.flatnonzero(bare))).any():
        return -np.inf
    entropy = float(design.c @ (entr(p) + entr(1.0 - p)))
    return entropy + float(_least(design, u, ~free).sum())


def _balanced(design: Design, p: Array, bare: Mask) -> Array:
    """p with u_j = 0 for the coordinates `bare`, by Newton steps p + p (1 - p) Z t, which keep p inside (0, 1) when t is small."""
    columns = np.flatnonzero(bare)
    for _ in range(3):
        u = design.transposed_in(design.c * p, columns)
        if (np.abs(u) <= 0.1 * ROUNDING * design.sizes(design.c * p, columns)).all():
            return p
        curvature = design.hessian(design.c * p * (1.0 - p), columns)
        step = np.linalg.lstsq(curvature, u, rcond=None)[0]
        full = np.zeros(design.size)
        full[bare] = step
        moved = p - p * (1.0 - p) * design.margins(full)
        if (moved < 0).any() or (moved > 1).any():
            return p
        p = moved
    return p


def _least(design: Design, u: Array, counted: Mask) -> Array:
    """min over x_j of l1_j |x_j| + l2_j x_j^2 - u_j x_j within the bounds, for the counted coordinates."""
    l1, l2, u = design.l1[counted], design.l2[counted], u[counted]
    lower, upper = design.lower[counted], design.upper[counted]
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.sign(u) * np.maximum(np.abs(u) - l1, 0.0) / (2.0 * l2)
    inner = np.where(l2 > 0, inner, np.where(u > l1, np.inf, np.where(u < -l1, -np.inf, 0.0)))
    best = np.clip(inner, lower, upper)
    # A piecewise linear function on an interval that is open on one side may fall without end.
    with np.errstate(invalid="ignore"):
        value = l1 * np.abs(best) + l2 * best**2 - u * best
    return np.asarray(np.where(np.isinf(best), -np.inf, value))
