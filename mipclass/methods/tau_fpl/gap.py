"""Value and certified lower bound of the tau-FPL ranking problem at any point.

    P(w) = (1/m) sum_i o_i [1 - w.x_i + T(w)]_+^2 + (R/2) |w|^2,    T(w) = mean of the k largest negative scores.

For feasible duals alpha >= 0 and g (0 <= g_j <= o_j/k, sum g = 1), with A = sum alpha and v = X+'alpha - A X-'g, weak
duality gives  P* >= (A - |alpha|^2/4 - |v|^2/(2 m R))/m  (|alpha|^2 weighted by 1/o). The feasible set is a cone, so the
best multiple of the point is free: the bound is A^2 / (4 m q), q = |alpha|^2/4 + |v|^2/(2 m R).
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from .ranking import RankingData

LEAST_OBJECTIVE = 1e-12
"""Objective (w = 0 has 1) below which gaps are measured against this number, so that P* = 0 has a finite relative gap."""

SHARE_OF_GAIN = 0.1
"""Part of the possible gain 1 - bound that may be missing from an acceptable point."""

NEGLIGIBLE_GAIN = 0.01
"""Possible gain, in units of the tolerance, below which w = 0 is accepted."""


def top_mean(scores: Array, weights: Array, k: float) -> float:
    """T: the mean of the k largest scores, k counted in weight."""
    if weights.size and (weights == weights[0]).all() and (k / weights[0]).is_integer():
        count = min(int(k / weights[0]), scores.size)
        return float(np.partition(scores, scores.size - count)[scores.size - count :].mean())
    order = np.argsort(-scores)
    before = np.concatenate([[0.0], np.cumsum(weights[order])[:-1]])
    used = np.clip(k - before, 0.0, weights[order])
    return float(used @ scores[order] / used.sum())


def primal_value(data: RankingData, w: Array, scores: Array) -> float:
    """P(w), from the scores X w."""
    top = top_mean(scores[data.neg], data.weight_neg, data.k)
    hinge = np.maximum(1.0 - scores[data.pos] + top, 0.0)
    return float(data.weight_pos @ hinge**2) / data.total + 0.5 * data.R * float(w @ w)


def is_close_enough(objective: float, bound: float, tolerance: float) -> bool:
    """Whether the relative gap is at most `tolerance` and the point is better than w = 0 wherever that is possible.

    w = 0 has P = 1. Where P* is close to 1 (large R, hard data) it would pass for optimal although another w ranks better,
    so nine tenths of the possible gain 1 - bound are asked for as well, unless that gain itself is negligible.
    """
    gap, gain = objective - bound, 1.0 - bound
    is_gained = gap <= SHARE_OF_GAIN * gain or gain <= NEGLIGIBLE_GAIN * tolerance
    return gap <= tolerance * max(objective, LEAST_OBJECTIVE) and is_gained


def relative_gap(objective: float, bound: float) -> float:
    """(objective - bound) / objective, at least 0."""
    return max(0.0, objective - bound) / max(objective, LEAST_OBJECTIVE)


def dual_bound(data: RankingData, A: float, alpha_square: float, v_square: float) -> float:
    """The best bound along a feasible dual ray; alpha_square = sum alpha_i^2/o_i, v_square = |v|^2."""
    q = 0.25 * alpha_square + v_square / (2.0 * data.total * data.R)
    return A * A / (4.0 * data.total * q) if q > 0.0 else 0.0
