"""The section BOUNDS of MPS files: one line is a type, the name of a set, a column and, for some types, a number."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import ReadError
from .digits import INFINITE
from .mps_lines import number_or_infinity

_WITH_NUMBER = ("UP", "LO", "FX", "UI", "LI")
_WITHOUT_NUMBER = ("FR", "MI", "PL", "BV")


@dataclass(frozen=True)
class Bound:
    """A line of the section: `of` is the set it belongs to, "" when the line names none."""

    kind: str
    of: str
    column: str
    value: float = 0.0


def read_bound(words: list[str], columns: Container[str]) -> Bound:
    """The bound that the words of a line state; a set may be missing, and so may a number that says nothing."""
    kind, rest = words[0].upper(), words[1:]
    if kind in _WITH_NUMBER:
        if len(rest) not in (2, 3):
            raise ReadError(f"a bound of type {kind} has a set, a column and a number; got {' '.join(words)!r}.")
        return Bound(kind, rest[0] if len(rest) == 3 else "", rest[-2], number_or_infinity(rest[-1]))
    if kind not in _WITHOUT_NUMBER:
        named = [word for word in rest if word in columns]
        of_column = f" of column {named[-1]!r}" if named else ""
        known = ", ".join(_WITH_NUMBER + _WITHOUT_NUMBER)
        raise ReadError(f"bound type {words[0]!r}{of_column} is not supported; known are {known}.")
    if len(rest) not in (1, 2, 3):
        raise ReadError(f"a bound of type {kind} has a set and a column; got {' '.join(words)!r}.")
    if len(rest) == 3 or (len(rest) == 2 and rest[1] not in columns and rest[0] in columns):
        number_or_infinity(rest.pop())
    return Bound(kind, rest[0] if len(rest) == 2 else "", rest[-1])


@dataclass
class MpsBounds:
    """The ends of the columns' intervals as far as the file states them, by the place of the column."""

    lower: dict[int, float] = field(default_factory=dict)
    upper: dict[int, float] = field(default_factory=dict)
    integer: set[int] = field(default_factory=set)

    def add(self, bound: Bound, column_at: Mapping[str, int]) -> None:
        """Take a line into account."""
        if bound.column not in column_at:
            raise ReadError(f"a bound names the unknown column {bound.column!r}.")
        j, kind = column_at[bound.column], bound.kind
        if kind in ("LO", "LI", "FX", "BV"):
            if bound.value >= INFINITE:
                raise ReadError(
                    f"the lower bound of column {bound.column!r} is infinite; it must be finite or -infinity."
                )
            self._set(self.lower, j, bound, bound.value)
        if kind in ("UP", "UI", "FX", "BV"):
            if bound.value <= -INFINITE:
                raise ReadError(
                    f"the upper bound of column {bound.column!r} is -infinity; it must be finite or infinity."
                )
            self._set(self.upper, j, bound, 1.0 if kind == "BV" else bound.value)
        if kind in ("FR", "MI"):
            self.lower[j] = -np.inf
        if kind in ("FR", "PL"):
            self.upper[j] = np.inf
        if kind in ("LO", "LI", "MI"):  # an integer column with a lower bound is no longer binary
            self.upper.setdefault(j, np.inf)
        if kind in ("BV", "LI", "UI"):
            self.integer.add(j)

    def _set(self, ends: dict[int, float], j: int, bound: Bound, value: float) -> None:
        """Two different numbers for one end are refused: readers differ in which of them counts."""
        if np.isfinite(ends.get(j, np.inf)) and ends[j] != value:
            raise ReadError(f"column {bound.column!r} has two bounds on one side, {ends[j]:g} and {value:g}.")
        ends[j] = value

    def ends(self, integer: NDArray[Any]) -> tuple[Array, Array]:
        """Lower and upper bounds of all columns: what is not stated is [0, 1] for an integer column, else [0, infinity]."""
        lower, upper = np.zeros(len(integer)), np.where(integer, 1.0, np.inf)
        lower[list(self.lower)] = list(self.lower.values())
        upper[list(self.upper)] = list(self.upper.values())
        return lower, upper

    def without_value(self, upper: Array) -> list[int]:
        """Columns with a negative upper bound and no lower bound."""
        return [j for j in np.flatnonzero(upper < 0).tolist() if j not in self.lower]
