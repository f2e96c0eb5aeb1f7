"""Sums over points that every search of the family needs: the logistic loss, its derivatives, and a small Cholesky solve.

Margins are m_i; the loss is sum_i c_i log(1 + exp(-m_i)), its derivative by m_i is -c_i p_i with p_i = 1/(1 + exp(m_i)).
"""

from __future__ import annotations

import numpy as np

from ....arrays import Array
from ....kernels.decorator import njit

BLOCK = 256
"""Points at a time: a hundred rows of them fit into the second level of a processor's cache."""

SMALLEST_PIVOT = 1e-14
"""A pivot of the Cholesky factor below this fraction of its diagonal entry is replaced by it: rounding has made the matrix singular."""


@njit(cache=True, fastmath={"reassoc", "contract"})  # Sums may be vectorised; their order is the same in every call.
def weighted_sum(c: Array, values: Array) -> float:
    """sum_i c_i values_i."""
    total = 0.0
    for i in range(c.shape[0]):
        total += c[i] * values[i]
    return total


@njit(cache=True, fastmath={"reassoc", "contract"})
def second_moments(F: Array, q: Array, r: int, H: Array) -> None:
    """The lower triangle of H <- sum_i q_i F_i F_i', over the first r rows of F; in blocks of points that fit into the cache."""
    n = q.shape[0]
    scaled = np.empty((r, BLOCK))
    for a in range(r):
        for b in range(a + 1):
            H[a, b] = 0.0
    for begin in range(0, n, BLOCK):
        size = min(BLOCK, n - begin)
        for a in range(r):
            for i in range(size):
                scaled[a, i] = q[begin + i] * F[a, begin + i]
        for a in range(r):
            for b in range(a + 1):
                total = 0.0
                for i in range(size):
                    total += scaled[a, i] * F[b, begin + i]
                H[a, b] += total


@njit(cache=True)
def losses(m: Array, c: Array, p: Array) -> float:
    """The weighted logistic loss; p_i <- c_i / (1 + exp(m_i)), the size of its derivative by m_i."""
    total = 0.0
    for i in range(m.shape[0]):
        e = np.exp(-abs(m[i]))
        total += c[i] * (np.log1p(e) + max(-m[i], 0.0))
        p[i] = c[i] * (e if m[i] > 0 else 1.0) / (1.0 + e)
    return total


@njit(cache=True)
def combine(F: Array, x: Array, r: int, offset: Array, m: Array) -> None:
    """m <- offset + sum_a x_a F_a, for the first r rows F_a."""
    for i in range(m.shape[0]):
        m[i] = offset[i]
    for a in range(r):
        for i in range(m.shape[0]):
            m[i] += x[a] * F[a, i]


@njit(cache=True)
def entropy(q: float) -> float:
    """H(q) = -q log q - (1 - q) log(1 - q), zero outside (0, 1)."""
    if q <= 0.0 or q >= 1.0:
        return 0.0
    return -q * np.log(q) - (1.0 - q) * np.log1p(-q)


@njit(cache=True)
def solve_in_place(H: Array, x: Array) -> None:
    """x <- H^-1 x for a symmetric positive definite H, whose lower triangle becomes its Cholesky factor."""
    n = x.shape[0]
    for a in range(n):
        diagonal = H[a, a]
        for k in range(a):
            diagonal -= H[a, k] * H[a, k]
        if not diagonal > SMALLEST_PIVOT * abs(H[a, a]):
            diagonal = max(SMALLEST_PIVOT * abs(H[a, a]), 1e-300)
        root = np.sqrt(diagonal)
        H[a, a] = root
        for b in range(a + 1, n):
            value = H[b, a]
            for k in range(a):
                value -= H[b, k] * H[a, k]
            H[b, a] = value / root
    for a in range(n):
        for k in range(a):
            x[a] -= H[a, k] * x[k]
        x[a] /= H[a, a]
    for a in range(n - 1, -1, -1):
        for k in range(a + 1, n):
            x[a] -= H[k, a] * x[k]
        x[a] /= H[a, a]
