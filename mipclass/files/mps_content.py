"""The content of an MPS file, gathered line by line: each section has a method that takes the words of a line."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import ReadError
from .digits import INFINITE
from .mps_bounds import MpsBounds, read_bound
from .mps_lines import number, number_or_infinity
from .parsed import Parsed

_RELATIONS = {"N", "E", "L", "G"}
SENSES = {"MIN", "MINIMIZE", "MINIMISE", "MAX", "MAXIMIZE", "MAXIMISE"}


class MpsContent:
    """What the lines read so far have said, one method per section."""

    def __init__(self) -> None:
        self.name = "program"
        self.maximise = False
        self.objective: str | None = None
        self.free_rows: set[str] = set()
        self.row_at: dict[str, int] = {}
        self.senses: list[str] = []
        self.column_at: dict[str, int] = {}
        self.integer: list[bool] = []
        self.entries: tuple[list[int], list[int], list[float]] = ([], [], [])
        self.costs: dict[int, float] = {}
        self.rhs: dict[str, float] = {}
        self.ranges: dict[str, float] = {}
        self.bounds = MpsBounds()
        self.hessian: list[tuple[int, int, float]] = []
        self.full_hessian: dict[tuple[int, int], float] = {}
        self.indicators: list[tuple[int, int, int]] = []
        self.in_integers = False
        self.first_set: dict[str, str] = {}  # section -> name of the right-hand side, ranges or bounds that count
        self.remarks: dict[str, None] = {}

    def uncommented(self, words: list[str], first: int) -> list[str]:
        """The words up to a comment, which begins with `$`, at place `first` at the earliest; a declared name is none."""
        for k in range(first, len(words)):
            if words[k][:1] == "$" and not self.is_declared(words[k]):
                return words[:k]
        return words

    def is_declared(self, name: str) -> bool:
        """Whether a row or column of this name is known."""
        return name in self.row_at or name in self.column_at or name in self.free_rows or name == self.objective

    # -- sections -------------------------------------------------------------------------------------------------------

    def objsense(self, words: list[str]) -> None:
        """MIN or MAX."""
        word = words[0].upper()
        if len(words) != 1 or word not in SENSES:
            raise ReadError(f"OBJSENSE must be MIN or MAX; got {' '.join(words)!r}.")
        self.maximise = word.startswith("MAX")

    def rows(self, words: list[str]) -> None:
        """A type and the name of a row."""
        words = self.uncommented(words, 2)
        if len(words) != 2:
            raise ReadError(f"a line of ROWS has a type and a name; got {' '.join(words)!r}.")
        sense, row = words[0].upper(), words[1]
        if sense not in _RELATIONS:
            raise ReadError(f"row {row!r} has the unknown type {words[0]!r}; it must be N, E, L or G.")
        if row in self.row_at or row in self.free_rows or row == self.objective:
            raise ReadError(f"row {row!r} is declared twice.")
        if sense != "N":
            self.row_at[row] = len(self.senses)
            self.senses.append(sense)
        elif self.objective is None:
            self.objective = row
        else:
            self.free_rows.add(row)  # a second objective or a row without meaning: read and left out

    def columns(self, words: list[str]) -> None:
        """A column, then pairs of a row and a coefficient; or a marker."""
        if len(words) == 3 and words[1].strip("'\"") == "MARKER":
            self.marker(words[2].strip("'\""))
            return
        if len(words) % 2 == 0 or len(words) < 3:
            words = self.uncommented(words, 1)
            if len(words) % 2 == 0 or len(words) < 3:
                raise ReadError(
                    f"a line of COLUMNS has a column, then pairs of a row and a number; got {' '.join(words)!r}."
                )
        name = words[0]
        j = self.column_at.get(name)
        if j is None:
            j = self.column_at[name] = len(self.integer)
            self.integer.append(self.in_integers)
        elif self.integer[j] != self.in_integers:
            raise ReadError(f"column {name!r} stands both inside and outside of integer markers.")
        rows, columns, values = self.entries
        for k in range(1, len(words), 2):
            row = words[k]
            i = self.row_at.get(row)
            if i is not None:
                rows.append(i)
                columns.append(j)
                values.append(number(words[k + 1]))
            elif row == self.objective:
                if j in self.costs:
                    self.twice()
                self.costs[j] = self.costs.get(j, 0.0) + number(words[k + 1])
            elif row[:1] == "$" and row not in self.free_rows:
                return
            elif row not in self.free_rows:
                raise ReadError(f"column {name!r} names the unknown row {row!r}.")

    def marker(self, kind: str) -> None:
        """Integer columns begin or end."""
        if kind not in ("INTORG", "INTEND"):
            raise ReadError(
                f"a marker must be 'INTORG' or 'INTEND'; got {kind!r}. Special ordered sets are not supported."
            )
        self.in_integers = kind == "INTORG"

    def twice(self) -> None:
        """Remark on coefficients that are given twice."""
        self.remarks["a coefficient is given twice; the sum is used (some readers take the first or the last)."] = None

    def rhs_(self, words: list[str]) -> None:
        """Right-hand sides of rows; that of the objective is minus its constant."""
        self._sides("RHS", words, self.rhs)

    def ranges_(self, words: list[str]) -> None:
        """Widths of rows with two sides; one of the objective means nothing."""
        self._sides("RANGES", words, self.ranges)

    def _sides(self, section: str, words: list[str], target: dict[str, float]) -> None:
        words = self.uncommented(words, 1)
        if len(words) < 2:
            raise ReadError(
                f"a line of {section} has a name, then pairs of a row and a number; got {' '.join(words)!r}."
            )
        if len(words) % 2 and words[0] and not self.counts(section, words[0]):
            return
        pairs = words[len(words) % 2 :]
        for row, text in zip(pairs[::2], pairs[1::2], strict=True):
            if row not in self.row_at and row != self.objective and row not in self.free_rows:
                raise ReadError(f"section {section} names the unknown row {row!r}.")
            if row in target:
                raise ReadError(f"section {section} gives row {row!r} two numbers.")
            may_be_infinite = section == "RHS" and row != self.objective
            target[row] = number_or_infinity(text) if may_be_infinite else number(text)

    def counts(self, section: str, name: str) -> bool:
        """Whether a line belongs to the first right-hand side, ranges or bounds of the file; the others are left out."""
        if self.first_set.setdefault(section, name) == name:
            return True
        self.remarks[
            f"section {section} holds more than one set; {self.first_set[section]!r}, the first, is used, {name!r} is left out."
        ] = None
        return False

    def bounds_(self, words: list[str]) -> None:
        """A bound of a column."""
        bound = read_bound(self.uncommented(words, 1), self.column_at)
        if not bound.of or self.counts("BOUNDS", bound.of):
            self.bounds.add(bound, self.column_at)

    def quadobj(self, words: list[str]) -> None:
        """An entry of the Hessian, which stands for its mirror image too."""
        i, j, value = self._product(words)
        self.hessian.append((i, j, value))
        if i != j:
            self.hessian.append((j, i, value))

    def qmatrix(self, words: list[str]) -> None:
        """An entry of the Hessian, whose mirror image is an entry of its own."""
        i, j, value = self._product(words)
        self.hessian.append((i, j, value))
        self.full_hessian[i, j] = self.full_hessian.get((i, j), 0.0) + value

    def _product(self, words: list[str]) -> tuple[int, int, float]:
        words = self.uncommented(words, 1)
        if len(words) != 3:
            raise ReadError(f"a quadratic term has two columns and a number; got {' '.join(words)!r}.")
        for name in words[:2]:
            if name not in self.column_at:
                raise ReadError(f"the quadratic objective names the unknown column {name!r}.")
        return self.column_at[words[0]], self.column_at[words[1]], number(words[2])

    def indicators_(self, words: list[str]) -> None:
        """A row that holds when a column has the value 0 or 1."""
        words = self.uncommented(words, 1)
        if len(words) != 4 or words[0].upper() != "IF" or words[3] not in ("0", "1"):
            raise ReadError(f"an indicator reads 'IF row column 0' or 'IF row column 1'; got {' '.join(words)!r}.")
        _, row, column, value = words
        if row not in self.row_at or column not in self.column_at:
            raise ReadError(f"an indicator names the unknown row {row!r} or column {column!r}.")
        if any(self.row_at[row] == known for known, _, _ in self.indicators):
            raise ReadError(f"row {row!r} has two indicators.")
        self.indicators.append((self.row_at[row], self.column_at[column], int(value)))

    # -- result ---------------------------------------------------------------------------------------------------------

    def parsed(self) -> Parsed:
        """All of it."""
        n, m = len(self.column_at), len(self.row_at)
        rows, columns, values = self.entries
        A = sp.csr_array(sp.coo_array((values, (rows, columns)), shape=(m, n), dtype=np.float64))
        if A.nnz < len(values):
            self.twice()
        c = np.zeros(n)
        c[list(self.costs)] = list(self.costs.values())
        row_lower, row_upper = self.row_sides()
        integer = np.array(self.integer, dtype=np.bool_)
        integer[list(self.bounds.integer)] = True
        lower, upper = self.bounds.ends(integer)
        names = list(self.column_at)
        for j in self.bounds.without_value(upper):
            self.remarks[
                f"column {names[j]!r} has the upper bound {upper[j]:g} and no lower bound, which stays 0 and leaves no value; "
                "some readers take minus infinity instead. If that is meant, add a bound of type MI."
            ] = None
        return Parsed(
            columns=names,
            rows=list(self.row_at),
            c=c,
            A=A,
            row_lower=row_lower,
            row_upper=row_upper,
            lower=lower,
            upper=upper,
            integer=integer,
            hessian=self.hessian,
            indicators=sorted(self.indicators),
            constant=0.0 - self.rhs.get(self.objective or "", 0.0),
            maximise=self.maximise,
            name=self.name,
            remarks=list(self.remarks),
        )

    def row_sides(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Lower and upper sides of the rows, from types, right-hand sides and ranges; the objective has none."""
        rhs = np.zeros(len(self.senses))
        for row, value in self.rhs.items():
            if row in self.row_at:
                rhs[self.row_at[row]] = value
        senses = np.array(self.senses, dtype="U1")
        row_lower = np.where(senses == "L", -np.inf, rhs)
        row_upper = np.where(senses == "G", np.inf, rhs)
        for row, width in self.ranges.items():
            i = self.row_at.get(row)
            if i is None:
                continue
            if senses[i] == "L" or (senses[i] == "E" and width < 0):
                row_lower[i] = rhs[i] - abs(width)
            else:
                row_upper[i] = rhs[i] + abs(width)
        for i in np.flatnonzero((row_lower >= INFINITE) | (row_upper <= -INFINITE)).tolist():
            row = list(self.row_at)[i]
            raise ReadError(
                f"row {row!r} of type {senses[i]} has the right-hand side {rhs[i]:g}, which nothing reaches."
            )
        return row_lower, row_upper

    def check_symmetry(self) -> None:
        """QMATRIX lists both entries of a product; ReadError when they differ."""
        names = list(self.column_at)
        for (i, j), value in self.full_hessian.items():
            if self.full_hessian.get((j, i), 0.0) != value:
                raise ReadError(
                    f"QMATRIX is not symmetric: {names[i]!r} with {names[j]!r} has {value:g}, the other way round "
                    f"{self.full_hessian.get((j, i), 0.0):g}. QUADOBJ is the section that lists one of the two."
                )
