"""Breakpoints of an outlier path stored as differences, in columns: a few hundred bytes per breakpoint, whatever n is.

The multipliers are alpha = rest + C theta [outlier]. A breakpoint stores what changes in `rest`, which points change sides and
which get another state; entries of all breakpoints follow each other as in a CSR matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...arrays import Array, Index, Mask, Positions
from .kernels.partition import States

Small = NDArray[np.int32]  # indices of points and of entries: half the memory of int64
EVENTS = ("R", "E", "L", "start", "tie", "jump", "end")  # what happens at a breakpoint; the first three are states
CODES = {name: code for code, name in enumerate(EVENTS)}


@dataclass(frozen=True)
class Grouped:
    """Entries of a matrix with n columns: keys = n row + column, and a value each."""

    keys: Index
    value: NDArray[Any]

    def places(self, n: int) -> tuple[Index, Index]:
        """Rows and columns of the entries."""
        return self.keys // n, self.keys % n


@dataclass(frozen=True)
class Ragged:
    """Lists of points of several breakpoints: those of breakpoint k are index[start[k] : start[k + 1]], with a value each."""

    start: Small
    index: Small
    value: NDArray[Any]

    def __getitem__(self, rows: slice) -> Ragged:
        """The lists of consecutive breakpoints (views)."""
        first, last, _ = rows.indices(len(self.start) - 1)
        last = max(first, last)
        part = slice(int(self.start[first]), int(self.start[last]))
        return Ragged(self.start[first : last + 1] - self.start[first], self.index[part], self.value[part])

    def matrix(self, columns: int, values: Array) -> sp.csr_array:
        """(breakpoints, columns) matrix with `values` in place of the stored ones."""
        return sp.csr_array((values, self.index, self.start), shape=(len(self.start) - 1, columns))

    def grouped(self, kept: Positions, n: int) -> Grouped:
        """The entries with the number of the first breakpoint of `kept` at or after their own."""
        row = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        return Grouped(n * np.searchsorted(kept, row).astype(np.int64) + self.index, self.value)

    @classmethod
    def joined(cls, parts: Sequence[Ragged]) -> Ragged:
        """The lists of several runs of breakpoints, one after the other."""
        offsets = np.cumsum([0, *(len(part.index) for part in parts)])
        starts = [part.start[:-1] + offset for part, offset in zip(parts, offsets[:-1], strict=True)]
        return cls(
            np.concatenate([*starts, offsets[-1:]]).astype(np.int32),
            np.concatenate([part.index for part in parts]),
            np.concatenate([part.value for part in parts]),
        )

    @classmethod
    def of_rows(cls, listed: NDArray[np.bool_], value: NDArray[Any]) -> Ragged:
        """The lists of the points marked in each row of `listed`, with their entries of `value`."""
        start = np.append(0, np.cumsum(np.count_nonzero(listed, axis=1))).astype(np.int32)
        return cls(start, np.nonzero(listed)[1].astype(np.int32), value[listed])

    @classmethod
    def single(cls, index: Index, value: NDArray[Any]) -> Ragged:
        """The list of one breakpoint."""
        return cls(np.array([0, len(index)], dtype=np.int32), index.astype(np.int32), value)


@dataclass(frozen=True)
class Steps:
    """Consecutive breakpoints, each as a difference from the one before it.

    theta, s : the parameters.     event : codes of EVENTS.      point : the point concerned, or -1.
    moved : points whose rest changes, and by how much.       toggled : points that change sides; true where one became an outlier.
    restated : points with a new state, and which.
    """

    theta: Array
    s: Array
    event: States
    point: Small
    moved: Ragged
    toggled: Ragged
    restated: Ragged

    def __len__(self) -> int:
        return len(self.theta)

    def __getitem__(self, rows: slice) -> Steps:
        """Some consecutive breakpoints (views)."""
        return Steps(
            self.theta[rows], self.s[rows], self.event[rows], self.point[rows],
            self.moved[rows], self.toggled[rows], self.restated[rows],
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: Sequence[Steps]) -> Steps:
        """Several runs of breakpoints, one after the other."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            np.concatenate([part.theta for part in parts]),
            np.concatenate([part.s for part in parts]),
            np.concatenate([part.event for part in parts]),
            np.concatenate([part.point for part in parts]),
            Ragged.joined([part.moved for part in parts]),
            Ragged.joined([part.toggled for part in parts]),
            Ragged.joined([part.restated for part in parts]),
        )

    def changes_of_rest(self, n: int) -> sp.csr_array:
        """(breakpoints, n) changes of rest."""
        return self.moved.matrix(n, self.moved.value.astype(np.float64, copy=False))

    def changes_of_outliers(self, C: Array) -> sp.csr_array:
        """(breakpoints, n) changes of C [outlier]."""
        return self.toggled.matrix(len(C), np.where(self.toggled.value, 1.0, -1.0) * C[self.toggled.index])

    def merged(self, kept: Positions, n: int) -> Steps:
        """The breakpoints `kept` alone, each as the sum of the differences up to it; the last one must be among them."""
        rest, sides = self.moved.grouped(kept, n), self.toggled.grouped(kept, n)
        moved = sp.coo_array((rest.value.astype(np.float64), rest.places(n)), shape=(len(kept), n)).tocsr()
        turns = sp.coo_array((np.where(sides.value, 1, -1), sides.places(n)), shape=(len(kept), n)).tocsr()
        turns.eliminate_zeros()
        state = self.restated.grouped(kept, n)
        keys, last = np.unique(state.keys[::-1], return_index=True)  # the last state of a point in a group counts
        starts = np.searchsorted(keys, n * np.arange(len(kept) + 1)).astype(np.int32)
        return Steps(
            self.theta[kept], self.s[kept], self.event[kept], self.point[kept],
            Ragged(moved.indptr.astype(np.int32), moved.indices.astype(np.int32), moved.data),
            Ragged(turns.indptr.astype(np.int32), turns.indices.astype(np.int32), turns.data > 0),
            Ragged(starts, (keys % n).astype(np.int32), state.value[::-1][last]),
        )  # fmt: skip

    def named(self, names: Index) -> Steps:
        """The same breakpoints of points that are called `names` elsewhere."""
        small = names.astype(np.int32)
        point = np.where(self.point >= 0, small[self.point], np.int32(-1))

        def renamed(part: Ragged) -> Ragged:
            return Ragged(part.start, small[part.index], part.value)

        moved, toggled, restated = renamed(self.moved), renamed(self.toggled), renamed(self.restated)
        return Steps(self.theta, self.s, self.event, point, moved, toggled, restated)


@dataclass(frozen=True)
class Memory:
    """A recorded solution, relative to which the next step is a difference: rest = a - C theta [outlier]."""

    rest: Array
    outlier: Mask
    state: States

    @classmethod
    def of(cls, a: Array, out_level: Array, outlier: Mask, state: States) -> Memory:
        """A copy of the present solution; `out_level` is C theta."""
        return cls(np.where(outlier, a - out_level, a), outlier.copy(), state.copy())


def difference(before: Memory, now: Memory, *, theta: float, s: float, event: str, point: int) -> Steps:
    """The one step from a recorded solution to the next."""
    changed = np.flatnonzero(now.rest != before.rest)
    toggled = np.flatnonzero(now.outlier != before.outlier)
    restated = np.flatnonzero(now.state != before.state)
    return Steps(
        np.array([theta]),
        np.array([s]),
        np.array([CODES[event]], dtype=np.int8),
        np.array([point], dtype=np.int32),
        Ragged.single(changed, (now.rest - before.rest)[changed]),
        Ragged.single(toggled, now.outlier[toggled]),
        Ragged.single(restated, now.state[restated]),
    )
