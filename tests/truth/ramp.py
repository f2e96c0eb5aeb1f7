"""The robust SVM by enumeration: every set of outliers, and a convex QP for each by a general solver."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.optimize import minimize

from mipclass.arrays import Array, Mask


def _least_with(Z: Array, a: float, costs: Array, theta: float, s: float, outliers: Mask, free: int) -> float:
    """min a |w|^2 + sum_i costs_i (hinge, or 1 - s + theta [s - m]_+ for outliers). SLSQP over w and slacks, from w = 0.

    The last `free` entries of w have no penalty.

    The loss is the smaller one of the two, so the least of these minima over all sets is that of the ramp loss.
    """
    n, d = Z.shape
    level, slope = np.where(outliers, s, 1.0), costs * np.where(outliers, theta, 1.0)
    rows, price = np.hstack([Z, np.eye(n)]), a * (np.arange(d) < d - free)
    found = minimize(
        lambda x: price @ x[:d] ** 2 + slope @ x[d:],
        np.append(np.zeros(d), np.maximum(level, 0.0)),
        jac=lambda x: np.append(2 * price * x[:d], slope),
        constraints={"type": "ineq", "fun": lambda x: rows @ x - level, "jac": lambda x: rows},
        bounds=[(None, None)] * d + [(0, None)] * n,
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 500},
    )
    w = found.x[:d]
    return float(price @ w**2 + slope @ np.maximum(level - Z @ w, 0.0) + (1 - s) * costs[outliers].sum())


def least_ramp(Z: Array, a: float, costs: Array, theta: float, s: float, free: int = 0) -> float:
    """min over w of a |w|^2 + sum_i costs_i ramp(z_i.w), where the last `free` entries of w have no penalty. For n <= 7 or so."""
    sets = (np.array(chosen) for chosen in product((False, True), repeat=len(Z)))
    return min(_least_with(Z, a, costs, theta, s, outliers, free) for outliers in sets)
