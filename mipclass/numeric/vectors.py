"""Vector operations as plain loops, which numba compiles in a fraction of the time that array expressions take."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, Index
from ..kernels.decorator import njit


@njit(cache=True)
def inner(x: Array, y: Array) -> float:
    """x.y over the length of x."""
    total = 0.0
    for j in range(x.shape[0]):
        total += x[j] * y[j]
    return total


@njit(cache=True, fastmath={"reassoc"})  # The sum may be vectorised; its order is the same in every call.
def quick_inner(x: Array, y: Array) -> float:
    """x.y over the length of x, vectorised: the terms are added in another order than by `inner`. For long vectors."""
    total = 0.0
    for j in range(x.shape[0]):
        total += x[j] * y[j]
    return total


@njit(cache=True)
def length(x: Array) -> float:
    """The Euclidean norm |x|."""
    return np.sqrt(inner(x, x))


@njit(cache=True)
def add_multiple(x: Array, c: float, y: Array) -> None:
    """x <- x + c y."""
    for j in range(x.shape[0]):
        x[j] += c * y[j]


@njit(cache=True)
def set_multiple(x: Array, c: float, y: Array) -> None:
    """x <- c y."""
    for j in range(x.shape[0]):
        x[j] = c * y[j]


@njit(cache=True, fastmath={"reassoc"})  # The sum may be vectorised; its order is the same in every call.
def row_products(Z: Array, w: Array, out: Array) -> None:
    """out <- Z w."""
    m = Z.shape[1]
    for i in range(Z.shape[0]):
        total = 0.0
        for j in range(m):
            total += Z[i, j] * w[j]
        out[i] = total


@njit(cache=True)
def remove_components(v: Array, basis: Array, size: int) -> None:
    """v <- v minus its projection on the first `size` orthonormal rows of basis; repeated once to remove rounding errors."""
    for _ in range(2):
        for k in range(size):
            add_multiple(v, -inner(v, basis[k]), basis[k])


@njit(cache=True)
def sort_by(key: Array, order: Index, start: int, stop: int) -> None:
    """Sort order[start:stop] by key, in place (Shell's sort with Ciura's gaps, continued by a factor of 2.25)."""
    n = stop - start
    gap = 1
    while gap < n:
        gap = next_gap(gap)
    while gap > 1:
        gap = previous_gap(gap)
        for i in range(start + gap, stop):
            row = order[i]
            value = key[row]
            j = i - gap
            while j >= start and key[order[j]] > value:
                order[j + gap] = order[j]
                j -= gap
            order[j + gap] = row


@njit(cache=True)
def next_gap(gap: int) -> int:
    """The smallest gap of the sequence above `gap`."""
    for g in (4, 10, 23, 57, 132, 301, 701):
        if gap < g:
            return g
    return int(2.25 * gap)


@njit(cache=True)
def previous_gap(gap: int) -> int:
    """The largest gap of the sequence below `gap`."""
    g = 1
    while next_gap(g) < gap:
        g = next_gap(g)
    return g
