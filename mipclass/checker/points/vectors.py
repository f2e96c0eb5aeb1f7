"""Rows of float64 numbers, read as fractions one row at a time.

A float64 is a fraction, so that the array itself is exact. Decisions about all rows at once are made in float64 with a bound on what
rounding may have done, and rows that are in doubt are decided in fractions. A million rows then take no more room than their array.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import overload

import numpy as np
from numpy.typing import NDArray

from ..patience import look

Floats = NDArray[np.float64]

ROWS_AT_ONCE = 1 << 16
"""Rows of one step of vectorised arithmetic, after which the clock is looked at: some milliseconds."""

UNIT = 2.0**-53
"""Largest relative error of one float64 operation that neither overflows nor underflows."""

TINY = 2.0**-900
"""Sums of magnitudes below this are in doubt: products of their terms may have underflowed."""


class Vectors(Sequence[list[Fraction]]):
    """The rows of `values`, and behind them rows that are given in fractions."""

    def __init__(self, values: Floats, behind: Sequence[Sequence[Fraction]] = ()) -> None:
        self.values, self.behind = values, [list(row) for row in behind]

    @property
    def width(self) -> int:
        """Numbers per row."""
        return int(self.values.shape[1])

    def __len__(self) -> int:
        return len(self.values) + len(self.behind)

    @overload
    def __getitem__(self, place: int) -> list[Fraction]: ...
    @overload
    def __getitem__(self, place: slice) -> list[list[Fraction]]: ...
    def __getitem__(self, place: int | slice) -> list[Fraction] | list[list[Fraction]]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        if not 0 <= place < len(self):
            raise IndexError(place)
        if place >= len(self.values):
            return self.behind[place - len(self.values)]
        return [Fraction(value) for value in self.values[place].tolist()]

    def among(self, chosen: Sequence[int]) -> Vectors:
        """Some of the rows, in this order."""
        places = np.array(chosen, dtype=np.intp)
        count = int((places < len(self.values)).sum())
        if (places[:count] >= len(self.values)).any():
            count = 0
        return Vectors(self.values[places[:count]], [self[i] for i in places[count:].tolist()])


def steps(count: int) -> Iterator[slice]:
    """The rows 0 to count - 1 in parts of ROWS_AT_ONCE; the clock is looked at before each."""
    for start in range(0, count, ROWS_AT_ONCE):
        look()
        yield slice(start, min(count, start + ROWS_AT_ONCE))


def products(values: Floats, matrix: Floats) -> tuple[Floats, Floats]:
    """values @ matrix, and how far each entry may be from the exact product; infinite where that is not known.

    A sum of t products, in any order, errs by at most t u / (1 - t u) times the sum of their magnitudes, u = 2^-53 (Higham, Accuracy
    and Stability of Numerical Algorithms, section 3.1). The magnitudes are summed with the same error, which the factor 2 covers.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        found, sizes = values @ matrix, np.abs(values) @ np.abs(matrix)
        doubt = 2.0 * (values.shape[1] + 2) * UNIT * sizes
    is_sure = np.isfinite(found) & np.isfinite(sizes) & ((sizes > TINY) | (sizes == 0.0) & _is_zero(values, matrix))
    return found, np.where(is_sure, doubt, np.inf)


def _is_zero(values: Floats, matrix: Floats) -> NDArray[np.bool_]:
    """Whether every product that makes an entry is zero because one of its factors is, and not because it underflowed."""
    return np.asarray((values != 0.0).astype(np.float64) @ (matrix != 0.0).astype(np.float64) == 0.0)
