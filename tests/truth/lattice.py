"""The least 0-1 loss of rules with whole weights, by enumeration in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from math import floor, fsum


def thresholds(scores, offset, margin):
    """Of the rules w.x > t with these scores, one for each set of errors. offset : whether there is one, and whether it is whole."""
    if not offset[0]:
        return [Fraction(0)]
    if offset[1]:
        return sorted({Fraction(floor(s) + k) for s in scores for k in (-2, -1, 0, 1, 2)})
    ordered = sorted(set(scores))
    if margin:
        return [s + k for s in ordered for k in (-1, 1)]
    return [ordered[0] - 1, ordered[-1] + 1, *((a + b) / 2 for a, b in pairwise(ordered))]


def least_on_lattice(X, y, weights, values, *, offset, margin, weights_keep, errors_keep, cost=0.0):
    """The least cost over all whole weights and thresholds; None when no rule is allowed.

    weights_keep : says whether weights w are allowed.   errors_keep : whether gains y (w.x - t) are, which decide errors and ties.
    cost : of each weight other than zero.
    """
    points = [[Fraction(v) for v in row] for row in X.tolist()]
    best = None
    for w in product(values, repeat=X.shape[1]):
        if not weights_keep(w):
            continue
        scores = [sum((a * v for a, v in zip(w, row, strict=True)), Fraction(0)) for row in points]
        for t in thresholds(scores, offset, margin):
            gains = [(s - t) * int(label) for s, label in zip(scores, y, strict=True)]
            if not errors_keep(gains):
                continue
            paid = fsum(c for c, wrong in zip(weights, errors(gains, margin), strict=True) if wrong)
            total = paid + cost * sum(v != 0 for v in w)
            best = total if best is None else min(best, total)
    return best


def errors(gains, margin):
    """Which points are wrong."""
    return [gain < 1 if margin else gain <= 0 for gain in gains]
