"""KernelRows: Q = (y y') * K of a kernel whose matrix is not stored; rows are computed when they are needed, and some are kept.

The path is followed on working sets, whose part of Q is formed by `restrict`. All other points enter only where their margins are
checked, which takes the rows of the few points whose multipliers change; those stay in a cache of bounded size from one working
set to the next. Memory: the cache, a few blocks of rows, and the matrix and the factor of a working set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from ...arrays import Array, Index, Positions
from .kernels.active_set import ActiveSet
from .kernels.operators import MOSTLY_RIDGE, RIDGE, PathChanges, SignedGram, coefficients_along, ridge_of

BLOCK_ENTRIES = 2_000_000  # entries of the blocks in which rows are computed: 16 MB
# A product is updated from the last one while at most this share of its entries has changed, and so many times in a row: then
# it is computed anew, which ends the drift of rounding.
FEW_CHANGES, MOST_UPDATES = 0.5, 100
NO_POINTS = np.empty(0, dtype=np.int64)


class RowCache:
    """Rows of an (n, n) matrix, as many as a limit in bytes allows; when it is full, rows chosen at random make room.

    Random replacement keeps a share of the rows even when more rows than fit are asked for in turn, where the oldest would keep none.
    """

    def __init__(self, compute: Callable[[Index], Array], n: int, memory: int) -> None:
        """`compute` gives the rows of an index; `memory` is in bytes."""
        self._compute = compute
        self._capacity = min(n, max(0, memory // (8 * max(1, n))))
        self._store = np.empty((self._capacity, n))  # memory is taken only where rows are written
        self._slot = np.full(n, -1, dtype=np.int64)
        self._owner = np.full(self._capacity, -1, dtype=np.int64)
        self._filled = 0
        self._random = np.random.default_rng(0)

    def rows(self, index: Index) -> Array:
        """(len(index), n) rows of different points (a copy)."""
        missing = index[self._slot[index] < 0]
        if len(missing) == 0:
            return np.asarray(self._store[self._slot[index]])
        new = self._compute(missing)
        out = np.empty((len(index), new.shape[1]))
        known = self._slot[index] >= 0
        out[known] = self._store[self._slot[index[known]]]
        out[~known] = new
        self._keep(missing, new, self._slot[index[known]])
        return out

    def _keep(self, points: Index, rows: Array, busy: Index) -> None:
        """Store new rows where there is room, and in place of others that are not `busy`."""
        free = np.arange(self._filled, min(self._capacity, self._filled + len(points)))
        self._filled += len(free)
        others = np.setdiff1d(np.arange(self._filled - len(free)), busy)
        taken = self._random.permutation(others)[: len(points) - len(free)]
        slots = np.concatenate([free, taken])
        old = self._owner[slots]
        self._slot[old[old >= 0]] = -1
        stored = points[: len(slots)]
        self._store[slots] = rows[: len(slots)]
        self._owner[slots], self._slot[stored] = stored, slots


@dataclass
class KernelRows:
    """Q = (y y') * K + diag(ridge) without its matrix.

    rows_of : the rows of Q, without the ridge, of an index.   part_of : the square part of Q, without the ridge, of an index.
    diagonal : Q_ii with the ridge.   ridge : what has been added to the diagonal.   root : sqrt(Q_ii).   widest : the largest of them.
    """

    rows_of: Callable[[Index], Array]
    part_of: Callable[[Index], Array]
    diagonal: Array
    ridge: Array
    cache: RowCache
    root: Array = field(init=False)
    widest: float = field(init=False)
    features: Index = field(init=False)
    _last: tuple[Array, Array] | None = field(default=None, repr=False)
    _updates: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        """Take the roots of the diagonal."""
        self.root = np.sqrt(self.diagonal)
        self.widest = float(self.root.max(initial=0.0))
        self.features = NO_POINTS

    @classmethod
    def of(
        cls, rows_of: Callable[[Index], Array], part_of: Callable[[Index], Array], diagonal: Array, memory: int
    ) -> KernelRows:
        """The operator of a matrix with this diagonal, whose cache of rows takes at most `memory` bytes."""
        added = ridge_of(diagonal, RIDGE)
        return cls(rows_of, part_of, diagonal + added, added, RowCache(rows_of, len(diagonal), memory))

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
        """The stored matrix of the points `names` alone."""
        Q = self.part_of(names)
        places = np.arange(len(names))
        Q[places, places] += self.ridge[names]
        return SignedGram.with_ridge(Q, self.diagonal[names], self.ridge[names])

    def restrict_drive(self, drive: Array, names: Index) -> Array:
        """The drive as the restriction to `names` sees it."""
        return np.asarray(drive[names])

    def drive(self, index: Index, values: Array) -> Array:
        """Qv for v given by its entries; where the last v was nearly the same, only the difference is multiplied."""
        v = np.zeros(len(self.diagonal))
        v[index] = values
        if self._last is not None and self._updates < MOST_UPDATES:
            changed = np.flatnonzero(v != self._last[0])
            if len(changed) <= FEW_CHANGES * len(index):
                self._updates += 1
                product = self._last[1] + self.product(changed, (v - self._last[0])[changed])
                self._last = v, product
                return product
        self._last, self._updates = (v, self.product(index, values)), 0
        return self._last[1]

    def product(self, index: Index, values: Array) -> Array:
        """Qv for v given by its entries; O(n) evaluations of the kernel per entry, none of which is kept."""
        out = np.zeros(len(self.diagonal))
        for part in _blocks(len(index), len(out)):
            out += values[part] @ self.rows_of(index[part])
        out[index] += self.ridge[index] * values
        return out

    def margins(self, a: Array) -> Array:
        """The margins Qa, without the ridge."""
        used = np.flatnonzero(a)
        return self.product(used, a[used]) - self.ridge * a

    def margin_scale(self, a: Array, points: Positions) -> Array:
        """1 + sum_j |Q_ij a_j| for these points i, relative to which their violations are measured; O(n) each."""
        index = np.asarray(points, dtype=np.int64)
        sums = np.empty(len(index))
        for part in _blocks(len(index), len(a)):
            sums[part] = np.abs(self.rows_of(index[part])) @ np.abs(a)
        return 1.0 + sums

    def margins_along(self, m: Array, changes: PathChanges) -> Array:
        """(steps, n) margins after each of the changes that follow a solution with the margins m."""
        used, coefficients = coefficients_along(changes)
        margins = np.tile(m, (len(coefficients), 1))
        margins[:, used] += coefficients * self.ridge[used]
        for part in _blocks(len(used), len(m)):
            margins += coefficients[:, part] @ self.cache.rows(used[part])
        if changes.moved.any():
            margins += changes.moved * changes.pull
        return np.asarray(margins)

    @property
    def matrix(self) -> Array:
        """Q as a matrix, with the ridge, formed anew each time."""
        return self.restrict(np.arange(len(self.diagonal))).matrix

    def dense(self) -> Array:
        """Q as a matrix."""
        return self.matrix

    def column(self, active_set: ActiveSet, j: int) -> Array:
        """Q_{A,j} for a point j outside the active set A."""
        return np.asarray(self.rows_of(np.array([j]))[0][active_set.members])

    def join(self, active_set: ActiveSet, j: int) -> float:
        """Put point j into the active set; returns its Schur complement relative to Q_jj."""
        names = np.sort(np.append(active_set.members, j))
        part = active_set.restrict(names)
        complement = self.restrict(names).join(part, int(np.searchsorted(names, j)))
        active_set.adopt(part, names)
        return complement

    def take_out(self, active_set: ActiveSet, j: int) -> None:
        """Take point j out of the active set."""
        SignedGram.leave_factor(active_set, j)

    def factorise(self, active_set: ActiveSet, index: Index) -> None:
        """Make `index` the active set, from scratch."""
        SignedGram.factorise_block(active_set, index, self.restrict(index).matrix)


def _blocks(count: int, n: int) -> Iterator[slice]:
    """Consecutive parts of `count` rows with n entries each, so that a part has at most BLOCK_ENTRIES."""
    size = max(1, BLOCK_ENTRIES // max(1, n))
    return (slice(first, min(first + size, count)) for first in range(0, count, size))
