"""The logistic loss by definition, and the best scorecard by trying every lattice point."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar


def loss(X: Any, y_pm1: Any, w: Any, b: float, multiplier: float = 1.0, c: Any = 1.0) -> float:
    """sum_i c_i log(1 + exp(-y_i (w.x_i + b) / multiplier))."""
    return float(np.sum(c * np.log1p(np.exp(-y_pm1 * (X @ w + b) / multiplier))))


def best_card(
    X: Any,
    y_pm1: Any,
    limit: int,
    most: int,
    offsets: range,
    multipliers: tuple[float, float],
    penalty: Callable[[Any], float] = lambda w: 0.0,
    admits: Callable[[Any, float], bool] = lambda w, b: True,
    c: Any = 1.0,
) -> float:
    """The least objective over all whole w in [-limit, limit]^d with at most `most` weights, whole b and a multiplier in range."""
    best = np.inf
    for w in product(range(-limit, limit + 1), repeat=X.shape[1]):
        if np.count_nonzero(w) > most:
            continue
        for b in offsets:
            if not admits(np.array(w), b):
                continue
            if multipliers[0] == multipliers[1]:
                value = loss(X, y_pm1, np.array(w), b, multipliers[0], c)
            else:
                ends = [loss(X, y_pm1, np.array(w), b, m, c) for m in multipliers]
                if min(ends) - 60 > best:
                    continue
                # The loss is convex in 1 / multiplier.
                inner = minimize_scalar(
                    lambda s, w=w, b=b: loss(X, y_pm1, np.array(w), b, 1 / s, c),
                    bounds=(1 / multipliers[1], 1 / multipliers[0]),
                    method="bounded",
                    options={"xatol": 1e-10},
                )
                value = min(float(inner.fun), *ends)
            best = min(best, value + penalty(np.array(w)))
    return best
