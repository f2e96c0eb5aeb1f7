"""Optima without a solver: by trying every vertex, active set, integer point or cut."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..modelling.program import Program


def best_vertex(program: Program) -> float:
    """The optimum of a bounded LP by trying every vertex."""
    n = program.n_columns
    sides = np.vstack([program.A.toarray(), np.eye(n)])
    lower = np.concatenate([program.row_lower, program.lower])
    upper = np.concatenate([program.row_upper, program.upper])
    faces = [(a, b) for a, l, u in zip(sides, lower, upper, strict=True) for b in {l, u} if np.isfinite(b)]
    best = np.inf
    for chosen in combinations(faces, n):
        matrix = np.array([a for a, _ in chosen])
        if abs(np.linalg.det(matrix)) > 1e-9:
            x = np.linalg.solve(matrix, [b for _, b in chosen])
            if program.violation(x) <= 1e-9:
                best = min(best, program.objective(x))
    return best


def best_active_set(program: Program) -> float:
    """The optimum of a strictly convex QP over a box by trying each column at its lower, its upper or no bound."""
    assert program.Q is not None
    Q, best = program.Q.toarray(), np.inf
    for choice in product((0, 1, 2), repeat=program.n_columns):
        x = np.where(np.array(choice) == 0, program.lower, program.upper)
        free = np.array(choice) == 2
        if not np.isfinite(x[~free]).all():
            continue
        x[free] = np.linalg.solve(Q[np.ix_(free, free)], -program.c[free] - Q[np.ix_(free, ~free)] @ x[~free])
        if program.violation(x) <= 1e-9:
            best = min(best, program.objective(x))
    return best


def best_integer_point(program: Program) -> float:
    """The optimum of a bounded pure integer program by trying every point; inf when none is feasible."""
    ranges = [range(int(l), int(u) + 1) for l, u in zip(program.lower, program.upper, strict=True)]
    points = (np.array(point, dtype=np.float64) for point in product(*ranges))
    return min((program.objective(x) for x in points if program.violation(x) <= 1e-9), default=np.inf)


def fewest_errors_on_a_line(x: Array, y: ArrayLike) -> int:
    """0-1 loss of the best rule sign(w x + b) on one feature, by trying every cut between neighbours and both signs."""
    order = np.argsort(x)
    labels = np.asarray(y)[order]
    counts = [int(np.sum(labels[:k] > 0) + np.sum(labels[k:] < 0)) for k in range(len(labels) + 1)]
    return min(min(counts), len(labels) - max(counts))
