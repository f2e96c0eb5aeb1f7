"""Points as vectors, or as vectors of a kernel's feature space: what the walks to the nearest points need of either.

A walk asks a space for vertices p - q of the Minkowski difference, for the inner products of a vector with all points,
and for those of vectors with a vertex.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from ...arrays import Array
from .slab import Points, dense_rows

Kernel = Callable[[Points, Points], Array]
"""k(X, Z): the matrix of inner products in the feature space."""

Pair = tuple[int, int]
"""Positions of p in P1 and of q in P2: the vertex p - q."""

ROUNDING_STEPS = 64
"""Rounding errors, in units of the machine epsilon, that an inner product of the largest points may have collected."""


class LinearSpace:
    """Points as they are; a vector x is a d-vector."""

    def __init__(self, p1: Points, p2: Points | None) -> None:
        self.n1 = p1.shape[0]
        d = p1.shape[1]
        self.origin_class = p2 is None
        lower = np.zeros((1, d)) if p2 is None else p2
        both = [p1, lower]
        is_sparse = sp.issparse(p1) or sp.issparse(lower)
        self.points: Points = sp.vstack(both, format="csr") if is_sparse else np.vstack(both)
        if not is_sparse and p2 is not None:
            # The difference of the hulls does not change when both move; a far origin would cost digits.
            self.points -= self.points.mean(axis=0)
        if is_sparse:
            self.squares = np.asarray(sp.csr_array(self.points).power(2).sum(axis=1)).ravel()
        else:
            self.squares = np.einsum("ij,ij->i", self.points, self.points)
        # Below this squared norm, x cannot be told from the origin in float64.
        self.zero = float((ROUNDING_STEPS * np.finfo(float).eps) ** 2 * self.squares.max() * max(1, d))

    def vertex(self, pair: Pair) -> Array:
        """p - q."""
        both = dense_rows(self.points, np.array([pair[0], self.n1 + pair[1]]))
        return np.asarray(both[0] - both[1])

    def project(self, x: Array) -> Array:
        """Inner products of x with all points, P1 first."""
        return np.asarray(self.points @ x)

    def inner(self, many: Array, pair: Pair, vertex: Array) -> Array:
        """Inner products of vectors (rows of `many`) with the vertex of `pair`."""
        return np.asarray(many @ vertex)


class KernelSpace:
    """Points in the kernel's feature space; a vector x is known by its inner products with all n points."""

    def __init__(self, p1: Points, p2: Points | None, kernel: Kernel) -> None:
        self.n1, self.kernel = p1.shape[0], kernel
        self.origin_class = p2 is None
        stacked = [p1] if p2 is None else [p1, p2]
        self.points = sp.vstack(stacked, format="csr") if sp.issparse(p1) else np.vstack(stacked)
        self.columns: dict[int, Array] = {}
        largest = max(float(self.kernel(self.points[i : i + 1], self.points[i : i + 1])[0, 0]) for i in range(self.n1))
        # Squared norms are differences of kernel values here, so rounding is relative to the largest of those.
        self.zero = float(ROUNDING_STEPS * np.finfo(float).eps * largest)

    def column(self, i: int) -> Array:
        """Inner products of point i with all points, computed once."""
        if i not in self.columns:
            inner = np.asarray(self.kernel(self.points, self.points[i : i + 1])).ravel()
            # The origin stands for the other class when there is only one: its inner products are zero.
            self.columns[i] = np.append(inner, 0.0) if self.origin_class else inner
        return self.columns[i]

    def vertex(self, pair: Pair) -> Array:
        """p - q, as its inner products with all points."""
        if self.origin_class:
            return self.column(pair[0]).copy()
        return self.column(pair[0]) - self.column(self.n1 + pair[1])

    def project(self, x: Array) -> Array:
        """Inner products of x with all points: x itself."""
        return x

    def inner(self, many: Array, pair: Pair, vertex: Array) -> Array:
        """Inner products of vectors (rows of `many`) with the vertex of `pair`."""
        return np.asarray(many[..., pair[0]] - many[..., self.n1 + pair[1]])
