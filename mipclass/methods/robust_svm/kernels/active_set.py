"""The active set of the homotopy (points on the edge or tied at the cut-off) and its Cholesky factor."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrs

from ....arrays import Array, Index
from ....kernels.decorator import njit
from ....numeric.cholesky_update import append, delete, dot, solve_lower, solve_upper
from .compiled import inner_kernel
from .rows import Compressed, add_rows, dot_rows

# Gram matrix: smallest Schur complement kept in the factor, relative to Q_jj; about a hundred units of rounding.
PIVOT = 2e-14
# Rows: squared length of a row's part outside the span of the active rows, relative to |Z_j|^2, below which the row lies
# in the span: a relative length of 1e-12, four digits above the rounding of the projections.
DEPENDENT = 1e-24
FIRST_CAPACITY = 64  # rows of a new factor; it grows by doubling


class ActiveSet(NamedTuple):
    """Indices A of the active points and U with Q_AA = U'U (see cholesky_update); kernels change all of them in place.

    active : its first size[0] entries are A.      position : (n,) the place of a point in A, or -1.
    size : (1,) the number of them.                     U : (capacity, capacity), its leading block is the factor.
    """

    active: Index
    position: Index
    size: Index
    U: Array

    @classmethod
    def empty(cls, n: int) -> ActiveSet:
        """No active point out of n."""
        U = np.empty((FIRST_CAPACITY, FIRST_CAPACITY))
        return cls(np.empty(n + 1, dtype=np.int64), np.full(n, -1, dtype=np.int64), np.zeros(1, dtype=np.int64), U)

    @property
    def members(self) -> Index:
        """The active points, in the order of the factor (a view)."""
        return self.active[: self.size[0]]

    def restrict(self, names: Index) -> ActiveSet:
        """The same active set in the numbering of the points `names`, which must contain it; the factor is shared."""
        place = np.full(len(self.position), -1, dtype=np.int64)
        place[names] = np.arange(len(names))
        active = np.empty(len(names) + 1, dtype=np.int64)
        active[: self.size[0]] = place[self.members]
        return ActiveSet(active, self.position[names], self.size.copy(), self.U)

    def adopt(self, part: ActiveSet, names: Index) -> ActiveSet:
        """The active set of a restricted state in this one's numbering."""
        k = part.size[0]
        self.position[names] = part.position
        self.active[:k] = names[part.members]
        self.size[0] = k
        return self._replace(U=part.U)

    def drop_last(self) -> None:
        """Take out the point that joined last."""
        k = self.size[0] - 1
        self.position[self.active[k]] = -1
        self.size[0] = k

    def solve(self, right: Array) -> Array:
        """inv(Q_AA) right."""
        k = len(right)
        return np.asarray(dpotrs(self.U[:k, :k], right)[0]) if k else right

    def clear(self) -> None:
        """Make the active set empty."""
        self.position[self.members] = -1
        self.size[0] = 0

    def with_capacity(self, size: int) -> ActiveSet:
        """The same active set with room for `size` points and one more."""
        capacity = len(self.U)
        if size + 1 <= capacity:
            return self
        room = min(max(size + 1, 2 * capacity), len(self.position) + 2)
        grown = np.empty((room, room))
        k = self.size[0]
        grown[:k, :k] = self.U[:k, :k]
        return self._replace(U=grown)


@njit(cache=True)
def append_row(Z: Array, rows: Compressed, diagonal: Array, active_set: ActiveSet, j: int, spare: Array) -> float:
    """Put point j, given by its row Z_j, at the end of the active set; returns |part of Z_j outside the span|^2 / |Z_j|^2.

    The part outside is found by projecting twice (corrected semi-normal equations), so that it is right to rounding even
    where Q_jj - |l|^2 would cancel: rows with features of very different size. A row of zeros lies in every span: it has 0.
    """
    active, U = active_set.active, active_set.U
    k = active_set.size[0]
    outside = Z[j].copy()
    total = np.zeros(k)
    step = spare[0]
    for _ in range(2):
        dot_rows(Z, rows, active, k, outside, step)
        solve_lower(U, k, step)
        for c in range(k):
            total[c] += step[c]
        solve_upper(U, k, step)
        for c in range(k):
            step[c] = -step[c]
        add_rows(Z, rows, active, step, k, outside)
    complement = dot(outside, outside)
    for c in range(k):
        U[c, k] = total[c]
    U[k, k] = np.sqrt(max(complement, DEPENDENT * diagonal[j]))
    active[k] = j
    active_set.position[j] = k
    active_set.size[0] = k + 1
    return complement / diagonal[j] if diagonal[j] > 0.0 else 0.0


@njit(cache=True)
def append_points(Q: Array, diagonal: Array, active_set: ActiveSet, new: Index, spare: Array) -> float:
    """Put the points `new`, given by the matrix Q, at the end of the active set.

    Returns their smallest Schur complement relative to Q_jj; complements below PIVOT are raised to it. `spare` is
    (len(new), capacity) scratch.
    """
    corner, floor = new_columns(Q, diagonal, active_set, new, spare)
    smallest = append(active_set.U, active_set.size[0], spare[: new.shape[0]], corner, floor)
    add_members(active_set, new)
    return smallest * PIVOT


@inner_kernel
def new_columns(Q: Array, diagonal: Array, active_set: ActiveSet, new: Index, columns: Array) -> tuple[Array, Array]:
    """columns[e, :k] = Q_{A,e} for the points e that join; returns their own block of Q and the floor of their Schur complements."""
    active, k, q = active_set.active, active_set.size[0], new.shape[0]
    corner, floor = np.empty((q, q)), np.empty(q)
    for e in range(q):
        row = Q[new[e]]
        for c in range(k):
            columns[e, c] = row[active[c]]
        for c in range(q):
            corner[e, c] = row[new[c]]
        corner[e, e] = diagonal[new[e]]
        floor[e] = PIVOT * diagonal[new[e]]
    return corner, floor


@inner_kernel
def add_members(active_set: ActiveSet, new: Index) -> None:
    """List the points `new` behind the active ones."""
    k = active_set.size[0]
    for e in range(new.shape[0]):
        active_set.active[k + e] = new[e]
        active_set.position[new[e]] = k + e
    active_set.size[0] = k + new.shape[0]


@inner_kernel
def drop_last(active_set: ActiveSet) -> None:
    """Take out the point that joined last."""
    k = active_set.size[0] - 1
    active_set.position[active_set.active[k]] = -1
    active_set.size[0] = k


@njit(cache=True)
def leave(active_set: ActiveSet, old: Index, spare: Array) -> None:
    """Take the points `old` out of the active set; their order does not matter. `spare` is (len(old), capacity) scratch."""
    removed = take_places(active_set, old)
    delete(active_set.U, active_set.size[0], removed, spare)
    close_members(active_set, removed)


@inner_kernel
def take_places(active_set: ActiveSet, old: Index) -> Index:
    """The places of the points `old` in ascending order; they have none afterwards."""
    removed = np.empty(old.shape[0], dtype=np.int64)
    for e in range(old.shape[0]):
        place = active_set.position[old[e]]
        active_set.position[old[e]] = -1
        f = e
        while f > 0 and removed[f - 1] > place:  # insertion sort: few points leave at once
            removed[f] = removed[f - 1]
            f -= 1
        removed[f] = place
    return removed


@inner_kernel
def close_members(active_set: ActiveSet, removed: Index) -> None:
    """Close up the list of active points, of which those at the places `removed` have left."""
    active, position = active_set.active, active_set.position
    to = removed[0]
    for c in range(removed[0] + 1, active_set.size[0]):
        if position[active[c]] >= 0:
            active[to] = active[c]
            position[active[to]] = to
            to += 1
    active_set.size[0] = to
