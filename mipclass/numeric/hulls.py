"""Nearest points of two hulls by Wolfe's algorithm: the widest margin between two sets of points.

Minimise |v| over v in conv(P) - conv(N). The corral holds at most d + 1 differences p - n; each step adds the difference that goes
furthest against v and moves to the point of least norm of the corral's affine hull. Every v on the way is a convex combination, so
2/|v| is a lower bound of |w| of every rule that gets P and N right at margin 1. One step costs O((|P| + |N|) d + d^3).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.decorator import njit
from .pivoted_qr import least_squares

MOST_STEPS = 400  # steps of Wolfe's algorithm; fewer than 10 d suffice on the benchmark's data
OPTIMAL = 1e-12  # relative gap of the squared distance at which v is taken as nearest
RIDGE = 1e-14  # relative ridge of the corral's Gram matrix, which is singular when differences are dependent
EQUAL = 1e-7  # differences between the products of the corral's rows with v, relative to |v|^2, that rounding may leave
TINY = 1e-12  # convex weights below this leave the corral
ZERO = 1e-24  # squared distance, relative to the first difference's, at which the hulls are taken to meet


@njit(cache=True)
def nearest_points(P: Any, N: Any, enough: float, near: float = 0.0) -> Any:
    """(first, second, weights, v, reached): v = sum_k weights_k (P[first_k] - N[second_k]), and the margin over |v| in v's direction.

    enough : stop once |v|^2 is at most this, or is known to stay above it; negative to go on to the nearest points.
    near : stop once |v|^2 is at most this.
    """
    d = P.shape[1]
    S = np.zeros((d + 2, d))
    first, second, weights = np.zeros(d + 2, np.int64), np.zeros(d + 2, np.int64), np.zeros(d + 2)
    S[0], weights[0], m = P[0] - N[0], 1.0, 1
    v = S[0].copy()
    zero = max(near, ZERO * np.dot(v, v))
    reached = -1.0
    for _ in range(MOST_STEPS):
        up, down = P @ v, N @ v
        j, i = np.argmin(up), np.argmax(down)
        square, gain = np.dot(v, v), up[j] - down[i]
        if square <= max(enough, zero):
            break
        reached = gain / square
        if gain > 0 and 0 < enough < gain * gain / square:
            break
        if square - gain <= OPTIMAL * square or m > d:
            break
        S[m], first[m], second[m], weights[m] = P[j] - N[i], j, i, 0.0
        m = _to_affine_minimum(S, first, second, weights, m + 1, max(enough, zero))
        v = weights[:m] @ S[:m]
    return first[:m].copy(), second[:m].copy(), weights[:m].copy(), v, reached


@njit(cache=True)
def _to_affine_minimum(S: Any, first: Any, second: Any, weights: Any, m: int, least: float) -> int:
    """Move the weights to the least norm of the affine hull, dropping members that would get negative weights; the new size."""
    while True:
        goal = _affine_weights(S, m, least)
        step = 1.0
        for a in range(m):
            if goal[a] <= TINY:
                step = min(step, weights[a] / max(weights[a] - goal[a], TINY))
        for a in range(m):
            weights[a] += step * (goal[a] - weights[a])
        if step >= 1.0:
            return m
        worst = 0
        for a in range(m):
            if goal[a] <= TINY and weights[a] <= weights[worst]:
                worst = a
        m -= 1
        for a in range(worst, m):
            S[a], first[a], second[a], weights[a] = S[a + 1], first[a + 1], second[a + 1], weights[a + 1]
        total = weights[:m].sum()
        for a in range(m):
            weights[a] = max(weights[a], 0.0) / total


@njit(cache=True)
def _affine_weights(S: Any, m: int, least: float) -> Any:
    """The weights, of sum one, of the point of least norm in the affine hull of m rows.

    All rows have the same product with that point. Where the Gram matrix has lost the digits for this, least squares keep them. Nobody asks for more
    digits of squares below `least`.
    """
    A, right = np.zeros((m + 1, m + 1)), np.zeros(m + 1)
    A[:m, :m] = S[:m] @ S[:m].T
    ridge = RIDGE * np.trace(A)
    for a in range(m):
        A[a, a] += ridge
        A[a, m] = A[m, a] = 1.0
    right[m] = 1.0
    weights = np.linalg.solve(A, right)[:m]
    v = weights @ S[:m]
    products = S[:m] @ v
    if products.max() - products.min() <= EQUAL * max(np.dot(v, v), least):
        return weights
    return _by_least_squares(S, m)


@njit(cache=True)
def _by_least_squares(S: Any, m: int) -> Any:
    """The same weights, from differences to the shortest row."""
    base, least = 0, np.inf
    for a in range(m):
        square = np.dot(S[a], S[a])
        if square < least:
            base, least = a, square
    others = np.zeros(m - 1, np.int64)
    for a in range(m - 1):
        others[a] = a if a < base else a + 1
    differences = (S[others] - S[base]).T.copy()
    found = least_squares(differences, -S[base])
    weights = np.zeros(m)
    for a in range(m - 1):
        weights[others[a]] = found[a]
    weights[base] = 1.0 - found.sum()
    return weights
