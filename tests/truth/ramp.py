"""The robust SVM by enumeration: every set of outliers, and a convex QP for each by a general solver."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.optimize import minimize

from mipclass.arrays import Array, Mask


def _least_with(Z: Array, a: float, costs: Array, theta: float, s: float, outliers: Mask) -> float:
    """min a |w|^2 + sum_i costs_i (hinge, or 1 - s + theta [s - m]_+ for outliers). SLSQP over w and slacks, from w = 0.

    The loss is the smaller one of the two, so the least of these minima over all sets is that of the ramp loss.
    """
    n, d = Z.shape
    level, slope = np.where(outliers, s, 1.0), costs * np.where(outliers, theta, 1.0)
    rows = np.hstack([Z, np.eye(n)])
    found = minimize(
        lambda x: a * x[:d] @ x[:d] + slope @ x[d:],
        np.append(np.zeros(d), np.maximum(level, 0.0)),
        jac=lambda x: np.append(2 * a * x[:d], slope),
        constraints={"type": "ineq", "fun": lambda x: rows @ x - level, "jac": lambda x: rows},
        bounds=[(None, None)] * d + [(0, None)] * n,
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 500},
    )
    w = found.x[:d]
    return float(a * w @ w + slope @ np.maximum(level - Z @ w, 0.0) + (1 - s) * costs[outliers].sum())


def least_ramp(Z: Array, a: float, costs: Array, theta: float, s: float) -> float:
    """min over w of a |w|^2 + sum_i costs_i ramp(z_i.w). For n <= 7 or so."""
    sets = (np.array(chosen) for chosen in product((False, True), repeat=len(Z)))
    return min(_least_with(Z, a, costs, theta, s, outliers) for outliers in sets)
