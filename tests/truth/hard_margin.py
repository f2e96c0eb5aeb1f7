"""The hard-margin loss by enumeration: every set of errors, and the widest margin of the other points by a general QP solver."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import linprog, minimize

from mipclass.arrays import Array


def least_norm(Z: Array) -> float:
    """min |w|^2 subject to Z (w, b) >= 1; infinity when there is no such rule. SLSQP on the primal, from a feasible point of an LP."""
    d = Z.shape[1] - 1
    feasible = linprog(np.zeros(d + 1), A_ub=-Z, b_ub=-np.ones(len(Z)), bounds=[(None, None)] * (d + 1))
    if feasible.status == 2:
        return float("inf")
    found = minimize(
        lambda W: W[:d] @ W[:d],
        feasible.x,
        jac=lambda W: np.append(2 * W[:d], 0.0),
        constraints={"type": "ineq", "fun": lambda W: Z @ W - 1, "jac": lambda W: Z},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return float(found.fun)


def least_cost(X: Array, y_pm1: Array, a: float, C: float | Array, *, intercept: bool = True) -> float:
    """min over rules of a |w|^2 + the costs C of the points below margin 1. For n <= 9 or so."""
    columns = [X, np.ones(len(X))] if intercept else [X, np.zeros(len(X))]
    Z, costs = y_pm1[:, None] * np.column_stack(columns), np.broadcast_to(C, len(X))
    best = min(costs[y_pm1 > 0].sum(), costs[y_pm1 < 0].sum()) if intercept else costs.sum()
    for errors in range(len(X)):
        for wrong in map(list, combinations(range(len(X)), errors)):
            if costs[wrong].sum() < best:
                best = min(best, costs[wrong].sum() + a * least_norm(np.delete(Z, wrong, axis=0)))
    return float(best)
