"""Reads MPS files, free format or fixed with names without blanks.

Known sections: NAME, OBJSENSE, ROWS, COLUMNS with integer markers, RHS, RANGES, BOUNDS, QUADOBJ, QMATRIX, INDICATORS.
An integer column without any bound is binary, and a negative UP without a lower bound opens the lower side, as HiGHS and
CPLEX read them. Our own files say everything explicitly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import ReadError
from .parsed import Parsed

_RELATIONS = {"N", "E", "L", "G"}


class _Reader:
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
        self.rhs: dict[int, float] = {}
        self.ranges: dict[int, float] = {}
        self.constant = 0.0
        self.lower: dict[int, float] = {}
        self.upper: dict[int, float] = {}
        self.hessian: list[tuple[int, int, float]] = []
        self.indicators: list[tuple[int, int, int]] = []
        self.in_integers = False

    # -- sections -------------------------------------------------------------------------------------------------------

    def objsense(self, fields: list[str]) -> None:
        word = fields[0].upper()
        if word not in ("MIN", "MINIMIZE", "MAX", "MAXIMIZE"):
            raise ReadError(f"OBJSENSE must be MIN or MAX; got {fields[0]!r}.")
        self.maximise = word.startswith("MAX")

    def rows(self, fields: list[str]) -> None:
        sense, row = fields[0].upper(), fields[1]
        if sense not in _RELATIONS:
            raise ReadError(f"row {row!r} has the unknown type {fields[0]!r}; it must be N, E, L or G.")
        if row in self.row_at or row in self.free_rows or row == self.objective:
            raise ReadError(f"row {row!r} is declared twice.")
        if sense != "N":
            self.row_at[row] = len(self.senses)
            self.senses.append(sense)
        elif self.objective is None:
            self.objective = row
        else:
            self.free_rows.add(row)  # a second objective or a row without meaning: read and left out

    def columns(self, fields: list[str]) -> None:
        if len(fields) == 3 and fields[1].strip("'") == "MARKER":
            self.in_integers = fields[2].strip("'") == "INTORG"
            return
        name = fields[0]
        j = self.column_at.get(name)
        if j is None:
            j = self.column_at[name] = len(self.integer)
            self.integer.append(self.in_integers)
        rows, columns, values = self.entries
        for row, text in zip(fields[1::2], fields[2::2], strict=True):
            i = self.row_at.get(row)
            if i is not None:
                rows.append(i)
                columns.append(j)
                values.append(float(text))
            elif row == self.objective:
                self.costs[j] = self.costs.get(j, 0.0) + float(text)
            elif row not in self.free_rows:
                raise ReadError(f"column {name!r} names the unknown row {row!r}.")

    def rhs_(self, fields: list[str]) -> None:
        self._sides(fields, self.rhs)

    def ranges_(self, fields: list[str]) -> None:
        self._sides(fields, self.ranges)

    def _sides(self, fields: list[str], target: dict[int, float]) -> None:
        pairs = fields[1:] if len(fields) % 2 else fields
        for row, text in zip(pairs[::2], pairs[1::2], strict=True):
            if row == self.objective:
                self.constant = -float(text)
            elif row in self.row_at:
                target[self.row_at[row]] = float(text)
            elif row not in self.free_rows:
                raise ReadError(f"a right-hand side or range names the unknown row {row!r}.")

    def bounds(self, fields: list[str]) -> None:
        kind = fields[0].upper()
        has_value = kind not in ("FR", "MI", "PL", "BV")
        name = fields[-2] if has_value or len(fields) > 3 else fields[-1]
        if name not in self.column_at:
            raise ReadError(f"a bound names the unknown column {name!r}.")
        j, value = self.column_at[name], float(fields[-1]) if has_value else 0.0
        if kind in ("LO", "LI"):
            self.lower[j] = value
            self.upper.setdefault(j, np.inf)
        elif kind in ("UP", "UI"):
            self.upper[j] = value
            if value < 0:
                self.lower.setdefault(j, -np.inf)
        elif kind == "FX":
            self.lower[j] = self.upper[j] = value
        elif kind == "FR":
            self.lower[j], self.upper[j] = -np.inf, np.inf
        elif kind == "MI":
            self.lower[j] = -np.inf
            self.upper.setdefault(j, np.inf)
        elif kind == "PL":
            self.upper[j] = np.inf
        elif kind == "BV":
            self.lower[j], self.upper[j] = 0.0, 1.0
        else:
            raise ReadError(f"bound type {fields[0]!r} of column {name!r} is not supported.")
        if kind in ("BV", "LI", "UI"):
            self.integer[j] = True

    def quadobj(self, fields: list[str]) -> None:
        i, j, value = self._product(fields)
        self.hessian.append((i, j, value))
        if i != j:
            self.hessian.append((j, i, value))

    def qmatrix(self, fields: list[str]) -> None:
        self.hessian.append(self._product(fields))

    def _product(self, fields: list[str]) -> tuple[int, int, float]:
        for name in fields[:2]:
            if name not in self.column_at:
                raise ReadError(f"the quadratic objective names the unknown column {name!r}.")
        return self.column_at[fields[0]], self.column_at[fields[1]], float(fields[2])

    def indicators_(self, fields: list[str]) -> None:
        _, row, column, value = fields
        if row not in self.row_at or column not in self.column_at:
            raise ReadError(f"an indicator names the unknown row {row!r} or column {column!r}.")
        self.indicators.append((self.row_at[row], self.column_at[column], int(value)))

    # -- result ---------------------------------------------------------------------------------------------------------

    def parsed(self) -> Parsed:
        n, m = len(self.column_at), len(self.row_at)
        rows, columns, values = self.entries
        c, rhs = np.zeros(n), np.zeros(m)
        c[list(self.costs)] = list(self.costs.values())
        rhs[list(self.rhs)] = list(self.rhs.values())
        senses = np.array(self.senses, dtype="U1")
        row_lower = np.where(senses == "L", -np.inf, rhs)
        row_upper = np.where(senses == "G", np.inf, rhs)
        for i, width in self.ranges.items():
            if senses[i] == "L" or (senses[i] == "E" and width < 0):
                row_lower[i] = rhs[i] - abs(width)
            else:
                row_upper[i] = rhs[i] + abs(width)
        integer = np.array(self.integer, dtype=np.bool_)
        lower, upper = np.zeros(n), np.where(integer, 1.0, np.inf)
        lower[list(self.lower)] = list(self.lower.values())
        upper[list(self.upper)] = list(self.upper.values())
        return Parsed(
            columns=list(self.column_at),
            rows=list(self.row_at),
            c=c,
            A=sp.csr_array(sp.coo_array((values, (rows, columns)), shape=(m, n), dtype=np.float64)),
            row_lower=row_lower,
            row_upper=row_upper,
            lower=lower,
            upper=upper,
            integer=integer,
            hessian=self.hessian,
            indicators=sorted(self.indicators),
            constant=self.constant,
            maximise=self.maximise,
            name=self.name,
        )


def read_mps(text: str) -> Parsed:
    """The content of an MPS file."""
    reader = _Reader()
    handlers: dict[str, Any] = {
        "OBJSENSE": reader.objsense,
        "ROWS": reader.rows,
        "COLUMNS": reader.columns,
        "RHS": reader.rhs_,
        "RANGES": reader.ranges_,
        "BOUNDS": reader.bounds,
        "QUADOBJ": reader.quadobj,
        "QMATRIX": reader.qmatrix,
        "INDICATORS": reader.indicators_,
    }
    handle: Any = None
    for number, line in enumerate(text.splitlines(), start=1):
        fields = line.split()
        if not fields or line[0] in "*$":
            continue
        try:
            if line[0] not in " \t":
                section = fields[0].upper()
                if section == "ENDATA":
                    return _finished(reader)
                if section == "NAME":
                    reader.name = " ".join(field for field in fields[1:] if field != "FREE") or "program"
                elif section in handlers:
                    handle = handlers[section]
                    if section == "OBJSENSE" and len(fields) > 1:
                        handle(fields[1:])
                else:
                    raise ReadError(f"section {fields[0]!r} is not supported; known are NAME, {', '.join(handlers)}.")
            elif handle is None:
                raise ReadError("data before the first section.")
            else:
                handle(fields)
        except ReadError as err:
            raise ReadError(f"line {number}: {err}") from None
        except (ValueError, IndexError) as err:
            raise ReadError(f"line {number}: cannot make sense of {line.strip()!r} ({err}).") from err
    raise ReadError("the file ends without ENDATA; it is cut off or not an MPS file.")


def _finished(reader: _Reader) -> Parsed:
    if reader.objective is None:
        raise ReadError("the file has no objective (no row of type N).")
    return reader.parsed()
