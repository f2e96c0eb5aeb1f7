"""The best offset of a rule under limits on errors."""

from __future__ import annotations

import numpy as np

from ....arrays import Array
from .cover import CoverData


def with_best_offset(data: CoverData, W: Array) -> Array | None:
    """W with the offset that costs least among those that keep the limits; None when there is none or the offset is not free: rows on the weights alone leave it free.

    The candidates are the middles of the gaps between scores and a place beyond either end. O(n log n) per limit.
    """
    if (
        not data.n
        or any(a[-1] for a, _ in data.sides)
        or data.margin
        or data.Z.shape[1] < 2
        or not (np.abs(data.Z[:, -1]) == 1).all()
    ):
        return None
    labels = data.Z[:, -1]
    scores = (data.Z[:, :-1] * labels[:, None]) @ W[:-1]
    order = np.argsort(scores, kind="stable")
    values, t = scores[order], labels[order]
    # totals[...][k]: the k lowest scores are called negative, the others positive.
    totals = []
    for weights in (data.costs.astype(np.float64), *(coefficients for coefficients, _ in data.limits)):
        c = weights[order]
        lost_below = np.concatenate([[0.0], np.cumsum(np.where(t > 0, c, 0.0))])
        lost_above = np.concatenate([np.cumsum(np.where(t < 0, c, 0.0)[::-1])[::-1], [0.0]])
        totals.append(lost_below + lost_above)
    allowed = np.ones(len(values) + 1, dtype=bool)
    allowed[1:-1] = values[1:] > values[:-1]
    for total, (_, at_most) in zip(totals[1:], data.limits, strict=True):
        allowed &= total <= at_most
    if not allowed.any():
        return None
    k = int(np.argmin(np.where(allowed, totals[0], np.inf)))
    span = max(1.0, float(np.abs(values).max()))
    low = values[k - 1] if k > 0 else values[0] - span
    high = values[k] if k < len(values) else values[-1] + span
    return np.append(W[:-1], -(low + high) / 2)
