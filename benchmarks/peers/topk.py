"""Other ways to project, for comparison: the sort-based search of Lapin et al. (2015), Liu and Ye's ibis, and OSQP."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit


def project_cone_by_search(v: np.ndarray, k: int) -> np.ndarray:
    """Top-k cone by sorting and exhaustive search over the capped and free sets: O(n log n + k n).

    M. Lapin, M. Hein, B. Schiele: Top-k Multiclass SVM. NIPS 2015.
    """
    descending = np.sort(v)[::-1]
    mu, cap = _search_cone(descending, np.concatenate([[0.0], np.cumsum(descending)]), k)
    return np.clip(v - mu, 0.0, cap)


@njit(cache=True)
def _search_cone(b: np.ndarray, sums: np.ndarray, k: int) -> tuple[float, float]:
    n = b.size
    if sums[k] <= 0.0:
        return b[0], 0.0
    cap = sums[k] / k
    if k == n or b[k - 1] - b[k] >= cap:
        return b[k - 1] - cap, cap
    for s in range(k):
        for N in range(k + 1, n + 1):
            free = N - s
            ratio = (k - s) / k
            C = (sums[s] + (k - s) * (sums[N] - sums[s]) / free) / (s / k + ratio * (k - s) / free)
            mu = (sums[N] - sums[s] - C * ratio) / free
            delta = mu + C / k
            fits = b[N - 1] > mu and (n == N or b[N] <= mu) and b[s] < delta and (s == 0 or b[s - 1] >= delta)
            if C > 0.0 and fits:
                return mu, C / k
    return b[0], 0.0


@njit(cache=True)
def project_equal_sums_by_ibis(alpha: np.ndarray, beta: np.ndarray) -> tuple[float, int]:
    """(lambda, passes) for k = 1, where the caps are idle: sum [alpha - lambda]_+ = sum [beta + lambda]_+.

    Improved bisection in the manner of J. Liu, J. Ye: Efficient Euclidean Projections in Linear Time. ICML 2009: Newton
    steps from the left and secants from the right shrink the interval before each midpoint.
    """
    low, high = -beta.max(), alpha.max()
    if low >= high:
        return high, 0
    passes = 0
    while high - low > 1e-12 * max(abs(low), abs(high)):
        middle = 0.5 * (low + high)
        value, slope = 0.0, 0.0
        for a in alpha:
            if a > middle:
                value += a - middle
                slope -= 1.0
        for b in beta:
            if b > -middle:
                value -= b + middle
                slope -= 1.0
        passes += 1
        newton = middle - value / slope
        if value > 0.0:
            low = middle
            if low < newton < high:  # a trial point closer to the root, kept on the left by a small step back
                low = max(low, newton - 0.5 * (newton - middle))
                check = 0.0
                for a in alpha:
                    check += max(a - low, 0.0)
                for b in beta:
                    check -= max(b + low, 0.0)
                passes += 1
                if check < 0.0:
                    high, low = low, middle
        elif value < 0.0:
            high = middle
        else:
            return middle, passes
    return 0.5 * (low + high), passes


def project_by_osqp(alpha: np.ndarray, beta: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, str]:
    """The declared quadratic program of the projection by OSQP at 1e-8 (at most 4000 iterations), and how it ended."""
    import osqp

    from mipclass import models

    program = models.topk_projection(alpha, beta, k).program()
    n = program.A.shape[1]
    rows = sp.csc_matrix(sp.vstack([program.A, sp.eye(n)]))
    low = np.concatenate([program.row_lower, program.lower])
    high = np.concatenate([program.row_upper, program.upper])
    solver: Any = osqp.OSQP()
    settings = {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iter": 4_000, "verbose": False}
    solver.setup(sp.triu(program.Q, format="csc"), program.c, rows, low, high, **settings)
    found = solver.solve()
    x = found.x
    return x[: len(alpha)], x[len(alpha) : len(alpha) + len(beta)], str(found.info.status)
