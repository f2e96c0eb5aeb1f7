"""Errors of many linear rules that follow each other closely, such as those of a path, without scoring every point by every rule.

A rule w of a run of rules with |w - centre| <= radius scores x within |x| radius of centre.x. Where |centre.x| is larger, all
rules of the run agree on the point and it is counted once; the run is halved for the other points.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Index, Mask

AT_ONCE = 1 << 16  # scores that are computed directly rather than sorted out any further
ROUNDED = 1.0 + 1e-9  # factor of the radius that covers the rounding of scores and lengths
TINY = 1e-300  # keeps the test strict for a point at the origin


def errors_along(W: Array, X: Array, positive: Mask, weights: Array) -> Array:
    """(rules,) weight of the points x for which w.x > 0 differs from `positive`, for each row w of W."""
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
    total = np.zeros(len(W))
    open_runs: list[tuple[int, int, Index]] = [(0, len(W), np.arange(len(X)))]
    while open_runs:
        first, last, points = open_runs.pop()
        if (last - first) * len(points) <= AT_ONCE or last - first == 1:
            wrong = (W[first:last] @ X[points].T > 0) != positive[points]
            total[first:last] += wrong @ weights[points]
            continue
        middle = (first + last) // 2
        radius = float(np.sqrt(((W[first:last] - W[middle]) ** 2).sum(axis=1).max()))
        score = X[points] @ W[middle]
        sure = np.abs(score) > ROUNDED * radius * lengths[points] + TINY
        agreed = points[sure]
        total[first:last] += weights[agreed[(score[sure] > 0) != positive[agreed]]].sum()
        rest = points[~sure]
        open_runs += [(first, middle, rest), (middle, last, rest)]
    return total
