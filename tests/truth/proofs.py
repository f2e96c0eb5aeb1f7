"""Truth for the proving methods: the least cost by trying every set of wrong points, lightest first, each with one LP."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import linprog

from mipclass.certificates.certificate import Statement


def some_rule(Z: np.ndarray, statement: Statement, room: float = 0.0) -> bool:
    """Whether a W gets all rows of Z right and keeps the side rows; `room` is added to a margin of 1."""
    m = Z.shape[1]
    sides = [(a if statement.intercept else a[:-1], c) for a, c in statement.rows]
    if statement.margin:
        A = np.array([*(-Z), *(-a for a, _ in sides)]).reshape(-1, m)
        b = np.array([-1.0 - room] * len(Z) + [-c for _, c in sides])
        answer = linprog(np.zeros(m), A_ub=A, b_ub=b, bounds=[(None, None)] * m, method="highs")
        assert answer.status in (0, 2)
        return answer.status == 0
    A = np.array([*np.column_stack([-Z, np.ones(len(Z))]), *(np.append(-a, 0.0) for a, _ in sides)]).reshape(-1, m + 1)
    answer = linprog(
        np.append(np.zeros(m), -1.0), A_ub=A, b_ub=np.zeros(len(A)), bounds=[(-1, 1)] * m + [(None, 1)], method="highs"
    )
    assert answer.status == 0
    return bool(answer.x[-1] > 1e-9)


def least_cost(X: np.ndarray, y: np.ndarray, statement: Statement, room: float = 0.0) -> float | None:
    """The least cost of a rule that keeps limits and rows; None when there is none."""
    Z = y[:, None] * (np.column_stack([X, np.ones(len(X))]) if statement.intercept else X)
    indices = range(len(Z))
    sets = [list(wrong) for size in range(len(Z) + 1) for wrong in combinations(indices, size)]
    cost = np.array([statement.costs[wrong].sum() for wrong in sets])
    for k in np.argsort(cost, kind="stable"):
        wrong = sets[k]
        if any(np.asarray(c)[wrong].sum() > at_most for c, at_most in statement.limits):
            continue
        keep = np.setdiff1d(np.arange(len(Z)), np.array(wrong, dtype=int))
        if some_rule(Z[keep], statement, room):
            return float(cost[k])
    return None
