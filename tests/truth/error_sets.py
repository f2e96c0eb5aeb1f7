"""The slow, obvious truth for 0-1 problems: try every set of errors, ask an LP whether a rule makes no others.

Shares nothing with the package: subsets in order of cost, scipy's linprog for strict separability.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import linprog


def is_separable(X: Any, y: Any, correct: Any, *, intercept: bool = True, A_ub: Any = None, zero: Any = ()) -> bool:
    """Is there (w, b) with y_i (w.x_i + b) > 0 for all correct i, A_ub w <= 0, and w_j = 0 for j in zero?"""
    X, y, correct = np.asarray(X, float), np.asarray(y, float), np.asarray(correct, bool)
    if not correct.any():
        return True
    d = X.shape[1]
    rows = -(y[correct, None] * np.hstack([X[correct], np.full((int(correct.sum()), 1), float(intercept))]))
    # max t subject to y_i (w.x_i + b) >= t; positive iff strictly separable, scaled by |w|, |b| <= 1
    A = np.hstack([rows, np.ones((len(rows), 1))])
    b = np.zeros(len(rows))
    if A_ub is not None:
        extra = np.asarray(A_ub, float)
        A = np.vstack([A, np.hstack([extra, np.zeros((len(extra), 2))])])
        b = np.append(b, np.zeros(len(extra)))
    bounds = [(0, 0) if j in zero else (-1, 1) for j in range(d)] + [(-1e3, 1e3), (None, 1)]
    done = linprog(np.append(np.zeros(d + 1), -1.0), A_ub=A, b_ub=b, bounds=bounds, method="highs")
    return bool(done.status == 0 and -done.fun > 1e-9)


def fewest_errors(
    X: Any,
    y: Any,
    weights: Any = None,
    *,
    allowed: Callable[[Any], bool] = lambda errors: True,
    exactly: bool = False,
    **separability: Any,
) -> float:
    """The least weight of errors over all rules whose set of errors is `allowed`; inf when there is none.

    exactly : the points in the error set must be strictly wrong, not merely not required to be right.
    """
    y = np.asarray(y, float)
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, float)
    sets = [np.array(errors, bool) for errors in product((False, True), repeat=len(y))]
    for errors in sorted(sets, key=lambda errors: weights @ errors):
        if not allowed(errors):
            continue
        labels, correct = (np.where(errors, -y, y), np.ones(len(y), bool)) if exactly else (y, ~errors)
        if is_separable(X, labels, correct, **separability):
            return float(weights @ errors)
    return float("inf")
