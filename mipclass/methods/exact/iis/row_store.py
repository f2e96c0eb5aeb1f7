"""Lists of whole numbers, one after the other in two arrays: supports as they are kept, sent to workers and multiplied by covers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FIRST_ROOM = 1 << 10
"""Entries for which there is room at first."""

Entries = NDArray[np.int32]


class PackedRows(NamedTuple):
    """Row r is entries[starts[r] : starts[r + 1]]."""

    entries: Entries
    starts: Entries

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1

    def row(self, number: int) -> tuple[int, ...]:
        """One row."""
        return tuple(self.entries[self.starts[number] : self.starts[number + 1]].tolist())

    def tuples(self, first: int = 0) -> list[tuple[int, ...]]:
        """The rows from the given one on."""
        if first >= self.n_rows:
            return []
        starts = self.starts[first:].tolist()
        entries = self.entries[starts[0] :].tolist()
        return [tuple(entries[begin - starts[0] : end - starts[0]]) for begin, end in pairwise(starts)]


class RowStore:
    """Rows to which others are added; room is doubled when it is used up, so that each row is moved a few times at most."""

    def __init__(self) -> None:
        self._entries, self._starts = np.zeros(FIRST_ROOM, np.int32), np.zeros(FIRST_ROOM, np.int32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, rows: Sequence[Sequence[int]]) -> None:
        """Add rows."""
        if not rows:
            return
        first, used = self._count, int(self._starts[self._count])
        ends = used + np.cumsum([len(row) for row in rows])
        self._count += len(rows)
        self._starts = _with_room(self._starts, self._count + 1)
        self._starts[first + 1 : self._count + 1] = ends
        self._entries = _with_room(self._entries, int(ends[-1]))
        self._entries[used : ends[-1]] = [entry for row in rows for entry in row]

    def packed(self) -> PackedRows:
        """All rows so far, without a copy; rows that are added later do not change them."""
        starts = self._starts[: self._count + 1]
        return PackedRows(self._entries[: starts[-1]], starts)


def _with_room(values: Entries, needed: int) -> Entries:
    """The values in an array that has at least the room needed."""
    if needed <= len(values):
        return values
    return np.concatenate([values, np.zeros(max(needed, 2 * len(values)) - len(values), np.int32)])
