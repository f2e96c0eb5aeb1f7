"""The best offset of a rule whose weights are given."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from .costs import ExactCosts

TIE = 1e-12
"""An offset closer to a score than this fraction of the largest score counts as a tie: several units of rounding."""

LEAST_SPREAD = 1e-6
"""Distance kept beyond the extreme scores, as a fraction of the largest score, when all scores are equal."""


def best_offset(scores: Array, y_pm1: Array, costs: ExactCosts, near: float) -> float:
    """The offset b with the least loss sum_i cost_i [t_i (score_i + b) <= 0] and no tie; of several, the one nearest to `near`.

    The candidates are the middles of the gaps between scores, one place beyond either end, and `near` itself. O(n log n).
    The loss of the returned offset is at most that of `near` whenever `near` ties nowhere.
    """
    if not len(scores):
        return near
    order = np.argsort(scores, kind="stable")
    sorted_scores = scores[order]
    size = max(float(np.abs(sorted_scores).max()), abs(near), np.finfo(float).tiny)
    # loss[k]: the k lowest scores are called negative, the others positive.
    whole = costs.whole[order]
    loss = np.concatenate([whole[:1] * 0, np.cumsum(np.where(y_pm1[order] > 0, whole, -whole))])
    spread = max(float(sorted_scores[-1] - sorted_scores[0]), LEAST_SPREAD * size)
    edges = np.concatenate([[sorted_scores[0] - spread], sorted_scores, [sorted_scores[-1] + spread]])
    least = TIE * size
    wide = np.diff(edges) > 2 * least
    here = (-near - edges[:-1] > least) & (edges[1:] + near > least)
    offsets = -np.where(here, -near, edges[:-1] + np.diff(edges) / 2)
    candidates = np.flatnonzero(wide)
    best = candidates[loss[candidates] == loss[candidates].min()]
    return float(offsets[best[np.argmin(np.abs(offsets[best] - near))]])
