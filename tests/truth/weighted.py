"""The least weighted 0-1 loss in fractions: points merged by hand, then branching on which of them are wrong, an LP at each node."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from tests.truth.zero_one import has_rule, signed_points


def least_exact_loss(X: Any, y: Any, weights: Any) -> Fraction:
    """The least sum of weights of wrong points, exactly; equal points of opposite labels cost every rule the lesser of their sums."""
    sides: dict[tuple[float, ...], dict[int, Fraction]] = {}
    for x, label, weight in zip(np.asarray(X, float).tolist(), np.asarray(y).tolist(), weights, strict=True):
        mass = sides.setdefault(tuple(x), {1: Fraction(0), -1: Fraction(0)})
        mass[int(label)] += Fraction(float(weight))
    points = sorted(
        ((abs(m[1] - m[-1]), x, 1 if m[1] > m[-1] else -1) for x, m in sides.items() if m[1] != m[-1]), reverse=True
    )
    Z = signed_points([x for _, x, _ in points], [label for _, _, label in points]) if points else np.zeros((0, 1))
    Z = Z / np.abs(Z).max(axis=0, initial=1.0)
    best = sum((cost for cost, _, _ in points), Fraction(0))

    def go_on(k: int, right: list[int], cost: Fraction) -> None:
        nonlocal best
        if cost >= best:
            return
        if k == len(points):
            best = cost
            return
        if has_rule(Z[[*right, k]]):
            go_on(k + 1, [*right, k], cost)
        go_on(k + 1, right, cost + points[k][0])

    go_on(0, [], Fraction(0))
    return best + sum((min(m.values()) for m in sides.values()), Fraction(0))
