"""The two operators behind the matrix Q of a robust SVM's dual, with the same fields and methods.

    SignedRows   Q = Z Z' through the rows Z_i = y_i x_i of a linear rule; nothing of size n x n is formed
    SignedGram   Q = (y y') * K stored, with a ridge on its diagonal where the homotopy needs one

A vector v of multipliers is handed to the kernels as its `drive`: Z'v for rows, Qv for a Gram matrix. What the compiled
homotopy asks of an operator is in operations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dgemm
from scipy.linalg.lapack import dpotrf

from ....arrays import Array, Index, Positions
from ....numeric.cholesky_update import append
from .active_set import DEPENDENT, PIVOT, ActiveSet, append_points, append_row, leave
from .few_rows import are_few, join_few, leave_few
from .rows import NOT_COMPRESSED, Compressed, compressed, square_part, sums_along

# Ridge of a Gram matrix relative to Q_ii: it keeps every Q_AA factorable and is far below the accuracy that is claimed.
# Smooth kernels need it, because their spectrum decays to rounding; dependent rows of a linear rule stay out of A instead.
RIDGE = 1e-11
MOSTLY_RIDGE = (
    1e-9  # a Schur complement below a hundred ridges, relative to Q_jj, does not tell a point from the others
)

MANY = 0.25  # share of the points
ROWS_AT_ONCE = 64  # rows of Q that are copied at once for a product: a few MB, which stay in the cache


class PathChanges(NamedTuple):
    """Changes of the multipliers along breakpoints: a = rest + C theta [outlier].

    rest, outlier : (steps, n) changes of rest and of C [outlier] at each breakpoint.   theta : (steps, 1).
    moved : (steps, 1) theta less its value before the first step.   pull : (n,) Q C [outlier] before it, with which margins move with theta.
    """

    rest: sp.csr_array
    outlier: sp.csr_array
    theta: Array
    moved: Array
    pull: Array


def coefficients_along(changes: PathChanges) -> tuple[Index, Array]:
    """The points whose multipliers change, and (steps, points) how much they have changed in all at each breakpoint."""
    rest, outlier = changes.rest, changes.outlier
    listed = np.zeros(rest.shape[1], dtype=bool)
    listed[rest.indices] = listed[outlier.indices] = True
    used = np.flatnonzero(listed)
    place = np.cumsum(listed) - 1
    moved, turned = (sums_along(part.indptr, part.indices, part.data, place, len(used)) for part in (rest, outlier))
    return used, moved + changes.theta * turned


def add_combinations(Q: Array, used: Index, coefficients: Array, out: Array) -> None:
    """out += coefficients Q[used], for few rows of coefficients: a copy of all the rows used would cost as much as the product."""
    room = np.empty((ROWS_AT_ONCE, len(Q)))
    for first in range(0, len(used), ROWS_AT_ONCE):
        block = slice(first, first + ROWS_AT_ONCE)
        rows = room[: len(used[block])]
        np.take(Q, used[block], axis=0, out=rows, mode="clip")  # this mode writes to `out` directly
        dgemm(1.0, rows.T, np.ascontiguousarray(coefficients[:, block]).T, beta=1.0, c=out.T, overwrite_c=True)


def ridge_of(diagonal: Array, ridge: float) -> Array:
    """What a ridge relative to Q_ii adds to the diagonal.

    A point at the origin has the margin 0 for every rule: it gets the scale of the largest point.
    """
    return ridge * np.where(diagonal > 0, diagonal, max(float(diagonal.max(initial=0.0)), 1.0))


class SignedRows(NamedTuple):
    """Q = Z Z' for a linear rule.

    matrix : Z (n, d).    columns : Z', contiguous.   rows : Z in compressed form, or empty.   features : 0, 1, ..., d - 1.
    diagonal : Q_ii.      root : sqrt(Q_ii).          widest : the largest of them.     ridge : zeros.
    """

    matrix: Array
    columns: Array
    rows: Compressed
    features: Index
    diagonal: Array
    root: Array
    widest: float
    ridge: Array

    @classmethod
    def of(cls, Z: Array) -> SignedRows:
        """The operator of the rows Z (C-contiguous), which are not copied."""
        return cls._build(Z, compressed(Z), np.einsum("ij,ij->i", Z, Z))

    @classmethod
    def _build(cls, Z: Array, rows: Compressed, diagonal: Array) -> SignedRows:
        features = np.arange(Z.shape[1], dtype=np.int64)
        columns = np.ascontiguousarray(Z.T)
        root = np.sqrt(diagonal)
        return cls(Z, columns, rows, features, diagonal, root, float(root.max(initial=0.0)), np.zeros(len(Z)))

    @property
    def is_compressed(self) -> bool:
        """Whether rows are read in compressed form."""
        return len(self.rows.start) > 0

    @property
    def is_few(self) -> bool:
        """Whether the path is followed in NumPy."""
        return are_few(self.matrix)

    @property
    def dependent_below(self) -> float:
        """A point with a smaller Schur complement, relative to Q_jj, is linearly dependent on the active ones."""
        return DEPENDENT

    def restrict(self, names: Index) -> SignedRows:
        """The operator of the points `names` alone; that of all points, in ascending order, is this one."""
        if len(names) == len(self.diagonal):
            return self
        Z = self.matrix[names]
        return self._build(Z, compressed(Z) if self.is_compressed else NOT_COMPRESSED, self.diagonal[names])

    def drive(self, index: Index, values: Array) -> Array:
        """Z'v for v given by its entries; it is the same for every restriction."""
        if len(index) == 1:
            return np.asarray(self.matrix[index[0]] * values[0])
        return np.asarray(self.matrix[index].T @ values)

    def restrict_drive(self, drive: Array, names: Index) -> Array:
        """The drive as the restriction to `names` sees it."""
        return drive

    def product(self, index: Index, values: Array) -> Array:
        """Qv for v given by its entries."""
        return np.asarray(self.matrix @ (self.matrix[index].T @ values))

    def margins(self, a: Array) -> Array:
        """The margins Qa, without a ridge."""
        return np.asarray(self.matrix @ (self.matrix.T @ a))

    def margin_scale(self, a: Array, points: Positions) -> Array:
        """1 + sum_j |Q_ij a_j| for these points i, relative to which their violations are measured; O(n d) each."""
        used = np.flatnonzero(a)
        products = self.matrix[points] @ self.matrix[used].T
        return np.asarray(1.0 + np.abs(products, out=products) @ np.abs(a[used]))

    def dense(self) -> Array:
        """Q as a matrix."""
        return np.asarray(self.matrix @ self.matrix.T)

    def join(self, active_set: ActiveSet, j: int) -> float:
        """Put point j into the active set; returns its Schur complement relative to Q_jj."""
        if self.is_few:
            return join_few(self.matrix, self.diagonal, active_set, j)
        spare = np.empty((1, len(active_set.U)))
        return float(append_row(self.matrix, self.rows, self.diagonal, active_set, j, spare))

    def column(self, active_set: ActiveSet, j: int) -> Array:
        """Q_{A,j} for a point j outside the active set A."""
        return np.asarray(self.matrix[active_set.members] @ self.matrix[j])

    def take_out(self, active_set: ActiveSet, j: int) -> None:
        """Take point j out of the active set."""
        if self.is_few:
            leave_few(active_set, j)
        else:
            leave(active_set, np.array([j]), np.empty((1, len(active_set.U))))

    def factorise(self, active_set: ActiveSet, index: Index) -> None:
        """Make `index` the active set, from scratch."""
        active_set.clear()
        for j in index:
            self.join(active_set, j)


class SignedGram(NamedTuple):
    """Q = (y y') * K + diag(ridge), stored.

    matrix : Q (n, n), with the ridge.   features : empty, for there is no w.
    diagonal : Q_ii.   root : sqrt(Q_ii).   widest : the largest of them.   ridge : what has been added to the diagonal.
    """

    matrix: Array
    features: Index
    diagonal: Array
    root: Array
    widest: float
    ridge: Array

    @classmethod
    def of(cls, Q: Array, ridge: float = 0.0) -> SignedGram:
        """The operator of Q, which is taken over and gets the ridge, given relative to Q_ii, on its diagonal."""
        diagonal = np.diagonal(Q).copy()
        added = ridge_of(diagonal, ridge)
        if ridge:
            points = np.arange(len(Q))
            Q[points, points] += added
        return cls.with_ridge(Q, diagonal + added, added)

    @classmethod
    def with_ridge(cls, Q: Array, diagonal: Array, ridge: Array) -> SignedGram:
        """The operator of Q, which has this ridge and this diagonal already."""
        root = np.sqrt(diagonal)
        return cls(Q, np.empty(0, dtype=np.int64), diagonal, root, float(root.max(initial=0.0)), ridge)

    @property
    def is_compressed(self) -> bool:
        """Whether rows are read in compressed form: never."""
        return False

    @property
    def is_few(self) -> bool:
        """Whether the kernels for few points follow the path: never."""
        return False

    @property
    def dependent_below(self) -> float:
        """A point with a smaller Schur complement, relative to Q_jj, counts as linearly dependent on the active ones."""
        return MOSTLY_RIDGE

    def restrict(self, names: Index) -> SignedGram:
        """The operator of the points `names` alone; that of all points, in ascending order, is this one."""
        if len(names) == len(self.diagonal):
            return self
        return self.with_ridge(square_part(self.matrix, names), self.diagonal[names], self.ridge[names])

    def drive(self, index: Index, values: Array) -> Array:
        """Qv for v given by its entries."""
        return self.product(index, values)

    def restrict_drive(self, drive: Array, names: Index) -> Array:
        """The drive as the restriction to `names` sees it."""
        return np.asarray(drive[names])

    def product(self, index: Index, values: Array) -> Array:
        """Qv for v given by its entries."""
        if len(index) == 1:
            return np.asarray(self.matrix[index[0]] * values[0])
        if len(index) > MANY * len(self.matrix):  # a product with zeros costs less than a copy of these rows
            v = np.zeros(len(self.matrix))
            v[index] = values
            return np.asarray(self.matrix @ v)
        return np.asarray(self.matrix[index].T @ values)

    def margins(self, a: Array) -> Array:
        """The margins Qa, without the ridge."""
        return np.asarray(self.matrix @ a - self.ridge * a)

    def margin_scale(self, a: Array, points: Positions) -> Array:
        """1 + sum_j |Q_ij a_j| for these points i, relative to which their violations are measured; O(n) each."""
        used = np.flatnonzero(a)
        return np.asarray(1.0 + np.abs(self.matrix[np.ix_(points, used)]) @ np.abs(a[used]))

    def margins_along(self, m: Array, changes: PathChanges) -> Array:
        """(steps, n) margins after each of the changes that follow a solution with the margins m."""
        used, coefficients = coefficients_along(changes)
        margins = np.repeat(m[None, :], len(coefficients), axis=0)
        add_combinations(self.matrix, used, coefficients, margins)
        if changes.moved.any():
            margins += changes.moved * changes.pull
        return np.asarray(margins)

    def dense(self) -> Array:
        """Q as a matrix (not a copy)."""
        return self.matrix

    def join(self, active_set: ActiveSet, j: int) -> float:
        """Put point j into the active set; returns its Schur complement relative to Q_jj."""
        spare = np.empty((1, len(active_set.U)))
        return float(append_points(self.matrix, self.diagonal, active_set, np.array([j]), spare))

    def column(self, active_set: ActiveSet, j: int) -> Array:
        """Q_{A,j} for a point j outside the active set A."""
        return np.asarray(self.matrix[j, active_set.members])

    def take_out(self, active_set: ActiveSet, j: int) -> None:
        """Take point j out of the active set."""
        self.leave_factor(active_set, j)

    @staticmethod
    def leave_factor(active_set: ActiveSet, j: int) -> None:
        """Take point j out of the active set, for which Q is not needed."""
        leave(active_set, np.array([j]), np.empty((1, len(active_set.U))))

    def factorise(self, active_set: ActiveSet, index: Index) -> None:
        """Make `index` the active set, from scratch."""
        self.factorise_block(active_set, index, square_part(self.matrix, index))

    @staticmethod
    def factorise_block(active_set: ActiveSet, index: Index, block: Array) -> None:
        """Make `index`, whose part of Q is `block`, the active set."""
        active_set.clear()
        k, U = len(index), active_set.U
        lower, dependent = dpotrf(
            block.T, lower=True, clean=False
        )  # a column of L is a row of U, which follow each other
        if not dependent:
            U[:k, :k] = lower.T
        else:  # numerically dependent points: the update raises their pivots to the floor
            for c in range(k):
                column, corner = block[c : c + 1].copy(), block[c : c + 1, c : c + 1].copy()
                append(U, c, column, corner, PIVOT * corner[0])
        active_set.active[:k] = index
        active_set.position[index] = np.arange(k)
        active_set.size[0] = k


Operator = SignedRows | SignedGram
