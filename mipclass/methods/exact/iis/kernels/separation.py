"""Primal simplex over alternatives of an infeasible system: every vertex it visits is an irreducible infeasible subsystem (IIS).

    P = { u >= 0 :  A'u = (0, ..., 0, 1) },      A has a row (q_i, d_i) for each inequality

A vertex's support is an IIS of { q_i.V > 0 (or >= d_i) }: its rows cannot all hold, and each proper part of them can. The costs choose
where to look; the basis is kept, so that a new cost starts from the last vertex. One pivot is O(n m).
"""

from __future__ import annotations

import numpy as np
from numba import njit

ARTIFICIAL_COST = 1e3
OPTIMAL, STALLED, FULL = range(3)


@njit(cache=True)
def factor(A: np.ndarray, basis: np.ndarray, inverse: np.ndarray) -> bool:
    """Recompute the inverse of the basis; artificial columns are the unit vectors numbered from n on."""
    n, m = A.shape
    B = np.zeros((m, m))
    for k in range(m):
        if basis[k] >= n:
            B[basis[k] - n, k] = 1.0
        else:
            for t in range(m):
                B[t, k] = A[basis[k], t]
    inverse[:, :] = 0.0
    for k in range(m):
        inverse[k, k] = 1.0
    for k in range(m):  # Gauss-Jordan with row pivoting
        top = k
        for t in range(k + 1, m):
            if abs(B[t, k]) > abs(B[top, k]):
                top = t
        if abs(B[top, k]) < 1e-12:
            return False
        for t in range(m):
            B[k, t], B[top, t] = B[top, t], B[k, t]
            inverse[k, t], inverse[top, t] = inverse[top, t], inverse[k, t]
        scale = 1.0 / B[k, k]
        for t in range(m):
            B[k, t] *= scale
            inverse[k, t] *= scale
        for row in range(m):
            f = B[row, k]
            if row != k and f != 0.0:
                for t in range(m):
                    B[row, t] -= f * B[k, t]
                    inverse[row, t] -= f * inverse[k, t]
    return True


@njit(cache=True)
def walk(
    A: np.ndarray,
    columns: np.ndarray,
    cost: np.ndarray,
    weight: np.ndarray,
    n_soft: int,
    basis: np.ndarray,
    inverse: np.ndarray,
    dual: np.ndarray,
    max_pivots: int,
    threshold: float,
    supports: np.ndarray,
    sizes: np.ndarray,
    n_found: int,
) -> tuple[int, int, float]:
    """Minimise cost.u from the current basis; (status, number of supports stored, value).

    Every vertex whose soft points weigh less than `threshold` by `weight` is stored in `supports` (indices) and `sizes`. `columns` is A
    transposed, for pricing. `dual` gets the multipliers of the equations at the end: dual.A_i <= cost_i, so that rows of zero cost have  -dual[:-1].q_i >= value  when d = 1.
    """
    n, m = A.shape
    x = np.empty(m)
    in_basis = np.zeros(n + m, np.bool_)
    for k in range(m):
        in_basis[basis[k]] = True
    reduced = np.empty(n)
    direction = np.empty(m)
    since = 0
    stuck = 0
    last = np.inf
    value = np.inf
    for _ in range(max_pivots):
        if since >= 60:
            if not factor(A, basis, inverse):
                return STALLED, n_found, value
            since = 0
        for k in range(m):
            x[k] = inverse[k, m - 1]
        value = 0.0
        for t in range(m):
            dual[t] = 0.0
        for k in range(m):
            c = ARTIFICIAL_COST if basis[k] >= n else cost[basis[k]]
            value += c * x[k]
            for t in range(m):
                dual[t] += c * inverse[k, t]
        # Is this vertex an IIS worth keeping?
        if threshold > 0:
            total = 0.0
            size = 0
            clean = True
            for k in range(m):
                if x[k] > 1e-9:
                    if basis[k] >= n:
                        clean = False
                    else:
                        if basis[k] < n_soft:
                            total += weight[basis[k]]
                        size += 1
            if clean and total < threshold:
                if n_found >= sizes.shape[0]:
                    return FULL, n_found, value
                size = 0
                for k in range(m):
                    if x[k] > 1e-9:
                        supports[n_found, size] = basis[k]
                        size += 1
                sizes[n_found] = size
                n_found += 1
        # Entering column: most negative reduced cost (first negative one when stuck, which cannot cycle).
        for j in range(n):
            reduced[j] = cost[j]
        for t in range(m):
            y, row = dual[t], columns[t]
            for j in range(n):
                reduced[j] -= y * row[j]
        entering = -1
        best = -1e-9
        for j in range(n):
            if reduced[j] < best and not in_basis[j]:
                entering = j
                best = reduced[j]
                if stuck > 50:
                    break
        if entering < 0:
            return OPTIMAL, n_found, value
        for k in range(m):
            direction[k] = 0.0
            for t in range(m):
                direction[k] += inverse[k, t] * A[entering, t]
        leaving = -1
        step = np.inf
        for k in range(m):
            if direction[k] > 1e-9:
                ratio = max(x[k], 0.0) / direction[k]
                if ratio < step - 1e-12 or (
                    ratio <= step + 1e-12 and (leaving < 0 or _prefer(basis, direction, k, leaving, n, stuck))
                ):
                    step = min(step, ratio)
                    leaving = k
        if leaving < 0:
            return STALLED, n_found, value  # an unbounded ray; rows of cost zero alone can make one
        in_basis[basis[leaving]] = False
        basis[leaving] = entering
        in_basis[entering] = True
        scale = 1.0 / direction[leaving]
        for t in range(m):
            inverse[leaving, t] *= scale
        for k in range(m):
            if k != leaving and direction[k] != 0.0:
                d = direction[k]
                for t in range(m):
                    inverse[k, t] -= d * inverse[leaving, t]
        since += 1
        if value < last - 1e-12:
            stuck = 0
            last = value
        else:
            stuck += 1
    return STALLED, n_found, value


@njit(cache=True)
def _prefer(basis: np.ndarray, direction: np.ndarray, k: int, leaving: int, n: int, stuck: int) -> bool:
    """Ties in the ratio test: artificial columns leave first, then the largest pivot (the smallest index when stuck)."""
    if (basis[k] >= n) != (basis[leaving] >= n):
        return basis[k] >= n
    if stuck > 50:
        return basis[k] < basis[leaving]
    return direction[k] > direction[leaving]
