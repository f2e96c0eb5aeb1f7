"""Primal simplex over alternatives of an infeasible system: every vertex it visits is an irreducible infeasible subsystem (IIS).

    P = { u >= 0 :  A'u = (0, ..., 0, 1) },      A has a row (q_i, d_i) for each inequality

A vertex's support is an IIS of { q_i.V > 0 (or >= d_i) }: its rows cannot all hold, and each proper part of them can. The costs choose
where to look; the basis is kept, so that a new cost starts from the last vertex. One pivot is O(n m).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .....arrays import Array, Index
from .....kernels.decorator import njit
from .....numeric.gauss_jordan import invert

ARTIFICIAL_COST = 1e3  # cost of an artificial column: far above any cost of a point, so that they leave the basis first
SMALLEST_PIVOT = 1e-12  # a basis with a smaller pivot (rows have length one) counts as singular
REFACTOR = 60  # pivots between two fresh inverses, which remove the rounding errors of the updates
NOT_ZERO = 1e-9  # basic variables, reduced costs and pivots below this are rounding
TIE = 1e-12  # ratios and values closer than this are equal
STUCK = 50  # pivots without progress after which Bland's rule takes over, which cannot cycle
OPTIMAL, STALLED, FULL = range(3)  # how a walk ends


class Simplex(NamedTuple):
    """The rows A, the same transposed (for pricing), and the basis with its inverse, which are changed in place.

    dual : gets the multipliers of the equations at the end of a walk.
    """

    A: Array
    columns: Array
    basis: Index
    inverse: Array
    dual: Array


class Supports(NamedTuple):
    """Room for the supports met on a walk: their members, and how many each has."""

    members: Index
    sizes: Index


@njit(cache=True)
def factor(at: Simplex) -> bool:
    """Recompute the inverse of the basis; artificial columns are the unit vectors numbered from n on."""
    n, m = at.A.shape
    B = np.zeros((m, m))
    for k in range(m):
        if at.basis[k] >= n:
            B[at.basis[k] - n, k] = 1.0
        else:
            for t in range(m):
                B[t, k] = at.A[at.basis[k], t]
    return invert(B, at.inverse, SMALLEST_PIVOT)


@njit(cache=True)
def keep_support(x: Array, at: Simplex, weight: Array, n_soft: int, threshold: float, out: Supports, found: int) -> int:
    """Store the support of the vertex x when its soft points weigh less than the threshold.

    The number of supports then stored; -1 when there is no room for it.
    """
    n, m = at.A.shape
    total = 0.0
    for k in range(m):
        if x[k] > NOT_ZERO:
            if at.basis[k] >= n:
                return found
            if at.basis[k] < n_soft:
                total += weight[at.basis[k]]
    if total >= threshold:
        return found
    if found >= out.sizes.shape[0]:
        return -1
    size = 0
    for k in range(m):
        if x[k] > NOT_ZERO:
            out.members[found, size] = at.basis[k]
            size += 1
    out.sizes[found] = size
    return found + 1


@njit(cache=True)
def entering_column(at: Simplex, cost: Array, reduced: Array, in_basis: Array, is_stuck: bool) -> int:
    """The column of the most negative reduced cost (of the first negative one when stuck); -1 at an optimum."""
    n, m = at.A.shape
    columns, dual = at.columns, at.dual
    for j in range(n):
        reduced[j] = cost[j]
    for t in range(m):
        y, row = dual[t], columns[t]
        for j in range(n):
            reduced[j] -= y * row[j]
    entering = -1
    best = -NOT_ZERO
    for j in range(n):
        if reduced[j] < best and not in_basis[j]:
            entering = j
            best = reduced[j]
            if is_stuck:
                break
    return entering


@njit(cache=True)
def leaving_row(at: Simplex, x: Array, direction: Array, is_stuck: bool) -> int:
    """The ratio test: which basic variable reaches zero first; -1 when none does, on an unbounded ray."""
    n = at.A.shape[0]
    leaving = -1
    step = np.inf
    for k in range(x.shape[0]):
        if direction[k] > NOT_ZERO:
            ratio = max(x[k], 0.0) / direction[k]
            if ratio < step - TIE or (
                ratio <= step + TIE and (leaving < 0 or _prefer(at.basis, direction, k, leaving, n, is_stuck))
            ):
                step = min(step, ratio)
                leaving = k
    return leaving


@njit(cache=True)
def _prefer(basis: Index, direction: Array, k: int, leaving: int, n: int, is_stuck: bool) -> bool:
    """Ties in the ratio test: artificial columns leave first, then the largest pivot (the smallest index when stuck)."""
    if (basis[k] >= n) != (basis[leaving] >= n):
        return basis[k] >= n
    if is_stuck:
        return basis[k] < basis[leaving]
    return direction[k] > direction[leaving]


@njit(cache=True)
def multipliers(at: Simplex, cost: Array, x: Array) -> float:
    """Set x to the vertex of the basis and `dual` to its multipliers; the vertex's cost. Rows are short, so none is sliced."""
    n, m = at.A.shape
    basis, inverse, dual = at.basis, at.inverse, at.dual
    for t in range(m):
        dual[t] = 0.0
    value = 0.0
    for k in range(m):
        x[k] = inverse[k, m - 1]
        c = ARTIFICIAL_COST if basis[k] >= n else cost[basis[k]]
        value += c * x[k]
        for t in range(m):
            dual[t] += c * inverse[k, t]
    return value


@njit(cache=True)
def pivot(inverse: Array, direction: Array, leaving: int) -> None:
    """Update the inverse for a column of that direction which takes the place of the leaving one."""
    m = len(direction)
    scale = 1.0 / direction[leaving]
    for t in range(m):
        inverse[leaving, t] *= scale
    for k in range(m):
        if k != leaving and direction[k] != 0.0:
            d = direction[k]
            for t in range(m):
                inverse[k, t] -= d * inverse[leaving, t]


@njit(cache=True, nogil=True)
def walk(
    at: Simplex, cost: Array, weight: Array, n_soft: int, threshold: float, max_pivots: int, out: Supports
) -> tuple[int, int, float]:
    """Minimise cost.u from the current basis; (status, number of supports stored, value).

    Every vertex whose soft points weigh less than `threshold` by `weight` is stored in `out`. At the end dual.A_i <= cost_i, so
    that rows of zero cost have  -dual[:-1].q_i >= value  when d = 1.
    """
    A, basis, inverse = at.A, at.basis, at.inverse
    n, m = A.shape
    x, direction, reduced = np.empty(m), np.empty(m), np.empty(n)
    in_basis = np.zeros(n + m, np.bool_)
    for k in range(m):
        in_basis[basis[k]] = True
    found = since = stuck = 0
    last = value = np.inf
    for _ in range(max_pivots):
        if since >= REFACTOR:
            if not factor(at):
                return STALLED, found, value
            since = 0
        value = multipliers(at, cost, x)
        if threshold > 0:
            stored = keep_support(x, at, weight, n_soft, threshold, out, found)
            if stored < 0:
                return FULL, found, value
            found = stored
        entering = entering_column(at, cost, reduced, in_basis, stuck > STUCK)
        if entering < 0:
            return OPTIMAL, found, value
        for k in range(m):
            direction[k] = 0.0
            for t in range(m):
                direction[k] += inverse[k, t] * A[entering, t]
        leaving = leaving_row(at, x, direction, stuck > STUCK)
        if leaving < 0:
            return STALLED, found, value  # rows of cost zero alone can make such a ray
        in_basis[basis[leaving]] = False
        basis[leaving] = entering
        in_basis[entering] = True
        pivot(inverse, direction, leaving)
        since += 1
        if value < last - TIE:
            stuck = 0
            last = value
        else:
            stuck += 1
    return STALLED, found, value
