"""Reads LP files: the common ground of CPLEX, Gurobi, SCIP, HiGHS and GLPK.

Objective (linear, constant, [ quadratic ] / 2), rows with one or two sides, indicator rows `z = 1 -> ...`, bounds, binaries
and generals. Special ordered sets, semi-continuous columns, lazy rows and general constraints are refused by name.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
import scipy.sparse as sp

from ..errors import ReadError
from .digits import INFINITE
from .lp_tokens import NUMBER_WORDS, Tokens, is_name, sections
from .names import NO_ROWS
from .parsed import Parsed

# The first two letters of a title say what it is.
_KIND = {
    "mi": "min",
    "ma": "max",
    "su": "rows",
    "s.": "rows",
    "st": "rows",
    "bo": "bounds",
    "bi": "binary",
    "ge": "integer",
    "in": "integer",
}
_LARGEST = 1.7976931348623157e308  # the largest float64: a coefficient beyond it is infinite


class _Reader:
    def __init__(self) -> None:
        self.column_at: dict[str, int] = {}
        self.entries: tuple[list[int], list[int], list[float]] = ([], [], [])
        self.rows: dict[str | int, tuple[float, float]] = {}  # by label, or by number where there is none
        self.costs: tuple[list[int], list[float]] = ([], [])
        self.constant = 0.0
        self.hessian: list[tuple[int, int, float]] = []
        self.indicators: list[tuple[int, int, int]] = []
        self.bounds: dict[int, list[float]] = {}
        self.listed: dict[int, None] = {}  # columns in the order of the lines of the section Bounds
        self.integer: set[int] = set()
        self.maximise = False

    def column(self, name: str) -> int:
        return self.column_at.setdefault(name, len(self.column_at))

    # -- expressions ----------------------------------------------------------------------------------------------------

    def linear(self, tokens: Tokens) -> tuple[list[int], list[float], float]:
        """Terms up to the first token that cannot belong to a sum: (columns, coefficients, constant)."""
        columns: list[int] = []
        coefficients: list[float] = []
        constant = 0.0
        words, start, at, column_at = tokens.all, tokens.at, tokens.at, self.column_at
        known = len(column_at)
        sign, number, open_ = 1.0, None, True  # `open_`: a term may begin, for a sign or the beginning stands before it
        while at < len(words):
            word = words[at]
            first = word[0]
            if first in "+-" and word != "->":
                if number is not None:
                    constant += sign * number
                    number, sign = None, 1.0
                sign, open_ = -sign if first == "-" else sign, True
            elif first in "0123456789.":
                if not open_ or word == ".":
                    break
                number, open_ = float(word), False
                if number > _LARGEST:
                    tokens.at = at
                    raise tokens.fault(f"{word!r} is infinite; a coefficient must be finite")
            elif first in "<>=[]*/^:\\" or word[-1] == ":" or word == "->" or (number is None and not open_):
                break
            else:
                columns.append(column_at.setdefault(word, len(column_at)))
                coefficients.append(sign if number is None else sign * number)
                sign, number, open_ = 1.0, None, False
            at += 1
        for name in islice(reversed(column_at), len(column_at) - known):
            if name.lower() in NUMBER_WORDS:
                tokens.at = words.index(name, start)
                raise tokens.fault(f"{name!r} stands where the name of a column must stand")
        tokens.at = at
        if number is not None:
            constant += sign * number
        if tokens.now == "[" and at > start and words[at - 1] not in "+-":
            raise tokens.fault("expected a sign before the quadratic part")
        if open_ and at > start and tokens.now != "[":
            raise tokens.fault("a sign without a term")
        return columns, coefficients, constant

    # -- sections -------------------------------------------------------------------------------------------------------

    def objective(self, tokens: Tokens) -> None:
        """Terms, constants and quadratic parts in brackets."""
        if tokens.now.endswith(":"):
            tokens.take()
        while tokens.now:
            columns, coefficients, constant = self.linear(tokens)
            self.costs[0].extend(columns)
            self.costs[1].extend(coefficients)
            self.constant += constant
            if tokens.now == "[":
                self.quadratic(tokens)
            if tokens.now and tokens.now not in "+-":
                raise tokens.fault("the objective cannot be read")

    def quadratic(self, tokens: Tokens) -> None:
        """`[ 2 x ^2 - 4 x * y ] / 2`, with the signs in front of it."""
        sign, before = 1.0, tokens.at - 1
        while before >= 0 and tokens.all[before] in "+-":
            sign, before = -sign if tokens.all[before] == "-" else sign, before - 1
        tokens.expect("[")
        products: list[tuple[int, int, float]] = []
        while tokens.now != "]":
            if products and tokens.now not in ("+", "-"):
                raise tokens.fault("expected '+', '-' or ']'")
            value = 1.0
            while tokens.now in ("+", "-"):
                value = -value if tokens.take() == "-" else value
            if tokens.now[:1] in tuple(".0123456789"):
                value *= tokens.number()
            if abs(value) > _LARGEST:
                raise tokens.fault("a coefficient must be finite")
            i = self.column(tokens.name())
            if tokens.expect("^", "*") == "^":
                tokens.expect("2")
                products.append((i, i, value))
            else:
                products.append((i, self.column(tokens.name()), value))
        tokens.take()
        half = tokens.now == "/"
        if half:
            tokens.take()
            tokens.expect("2")
        for i, j, value in products:  # the bracket holds x'Qx when halved, else 1/2 x'(2Q)x
            entry = sign * (value if half else 2 * value)
            self.hessian += [(i, i, entry)] if i == j else [(i, j, entry / 2), (j, i, entry / 2)]

    def constraints(self, tokens: Tokens) -> None:
        """Rows, with labels or without."""
        while tokens.now:
            label: str | int = len(self.rows)
            if tokens.now.endswith(":"):
                label = tokens.now[:-1].strip()
                if label in self.rows:
                    raise tokens.fault(f"row {label!r} is declared twice")
                tokens.take()
            self.condition(tokens)
            self.row(label, tokens)

    def condition(self, tokens: Tokens) -> None:
        """`z = 1 ->` in front of a row."""
        ahead = tokens.all[tokens.at : tokens.at + 4]
        if len(ahead) == 4 and ahead[3] == "->":
            if not is_name(ahead[0]) or ahead[1] != "=" or ahead[2] not in ("0", "1"):
                raise tokens.fault(f"an indicator reads 'z = 0 ->' or 'z = 1 ->'; got {' '.join(ahead)!r}")
            self.indicators.append((len(self.rows), self.column(ahead[0]), int(ahead[2])))
            tokens.at += 4

    def row(self, label: str | int, tokens: Tokens) -> None:
        """`a.x >= l`, `l <= a.x <= u` or, with a label, a row without terms such as `c: >= -1`."""
        start = tokens.at
        low, high = -np.inf, np.inf
        columns, coefficients, constant = ([], [], tokens.number()) if tokens.at_infinity() else self.linear(tokens)
        self.refuse_quadratic(label, tokens)
        relation = tokens.relation()
        if not columns and not tokens.at_infinity():
            columns, coefficients, inner = self.linear(tokens)
            self.refuse_quadratic(label, tokens)
            if columns:  # l <= a.x <= u
                low, high = _interval(_flipped(relation), constant)
                if relation == "=" or tokens.relation() != relation:
                    tokens.at -= 1
                    raise tokens.fault("a row between two numbers reads 'l <= a.x <= u' or 'u >= a.x >= l'")
                constant, side = inner, tokens.number()
            elif isinstance(label, int) or tokens.all[tokens.at - 1][0] not in ".0123456789":
                raise tokens.fault("expected terms")
            else:
                side = inner
        else:
            side = tokens.number()
        lower, upper = _interval(relation, side)
        low, high = max(low, lower) - constant, min(high, upper) - constant
        if not (low < INFINITE and high > -INFINITE):
            tokens.at = start
            raise tokens.fault(f"the sides of the row, {low:g} and {high:g}, are beyond every number")
        rows, all_columns, values = self.entries
        rows.extend([len(self.rows)] * len(columns))
        all_columns.extend(columns)
        values.extend(coefficients)
        self.rows[label] = (low, high)

    def refuse_quadratic(self, label: str | int, tokens: Tokens) -> None:
        """An error that names the row where a quadratic part begins."""
        if tokens.now in ("[", "*", "^"):
            row = repr(label) if isinstance(label, str) else f"number {label + 1}"
            raise tokens.fault(f"row {row} is quadratic; rows must be linear, the objective alone may be quadratic")

    def bound(self, tokens: Tokens) -> None:
        """`l <= x <= u`, `x >= l`, `x <= u`, `x = v` or `x free`; a side that is not mentioned keeps its value."""
        start = tokens.at
        said: list[tuple[str, float]] = []
        if not is_name(tokens.now):
            value = tokens.number()
            said.append((_flipped(tokens.relation()), value))
        if not is_name(tokens.now):
            raise tokens.fault("a bound needs the name of a column")
        name = tokens.take()
        if tokens.now.lower() == "free" and not said:
            tokens.take()
            said += [(">", -np.inf), ("<", np.inf)]
        elif tokens.at_relation() or not said:
            relation = tokens.relation()
            said.append((relation, tokens.number()))
        j = self.column(name)
        self.listed[j] = None
        bounds = self.bounds.setdefault(j, [0.0, np.inf])
        for relation, value in said:
            if relation != "<":
                bounds[0] = value
            if relation != ">":
                bounds[1] = value
        if not (bounds[0] < INFINITE and bounds[1] > -INFINITE):
            tokens.at = start
            raise tokens.fault(
                f"the bounds of column {name!r}, {bounds[0]:g} and {bounds[1]:g}, are beyond every number"
            )

    def integers(self, tokens: Tokens, *, binary: bool) -> None:
        """Names of integer or binary columns."""
        while tokens.now:
            j = self.column(tokens.name())
            self.integer.add(j)
            if binary:
                low, high = self.bounds.get(j, (0.0, 1.0))
                self.bounds[j] = [max(low, 0.0), min(high, 1.0)]

    # -- result ---------------------------------------------------------------------------------------------------------

    def parsed(self) -> Parsed:
        if self.rows == {NO_ROWS: (-INFINITE, np.inf)} and not any(self.entries[2]):
            self.rows, self.entries = {}, ([], [], [])
        names = list(self.column_at)
        # Where every column has a line among the bounds, as in our files, that is the order of the columns.
        if len(self.listed) == len(self.column_at):
            order = np.fromiter(self.listed, dtype=np.int64, count=len(self.listed))
        else:
            order = np.arange(len(self.column_at))
        n, m = len(order), len(self.rows)
        place = np.argsort(order)
        c, lower, upper, integer = np.zeros(n), np.zeros(n), np.full(n, np.inf), np.zeros(n, dtype=np.bool_)
        np.add.at(c, place[self.costs[0]] if self.costs[0] else [], self.costs[1])
        if self.bounds:
            lower[place[list(self.bounds)]], upper[place[list(self.bounds)]] = np.array(list(self.bounds.values())).T
        integer[place[list(self.integer)] if self.integer else []] = True
        rows, columns, values = self.entries
        where = (np.array(rows, np.int64), place[columns] if columns else np.zeros(0, np.int64))
        sides = np.array(list(self.rows.values())).reshape(-1, 2)
        return Parsed(
            columns=[names[j] for j in order],
            rows=self.row_names(),
            c=c,
            A=sp.csr_array(sp.coo_array((np.array(values, np.float64), where), shape=(m, n))),
            row_lower=sides[:, 0],
            row_upper=sides[:, 1],
            lower=lower,
            upper=upper,
            integer=integer,
            hessian=[(int(place[i]), int(place[j]), value) for i, j, value in self.hessian],
            indicators=[(row, int(place[j]), value) for row, j, value in self.indicators],
            constant=self.constant,
            maximise=self.maximise,
        )

    def row_names(self) -> list[str]:
        """The labels; a row without one is R and its number, with `_` behind it where that is the label of another."""
        names: list[str] = []
        for label in self.rows:
            name = label if isinstance(label, str) else f"R{label + 1}"
            while isinstance(label, int) and name in self.rows:
                name += "_"
            names.append(name)
        return names


def _flipped(relation: str) -> str:
    return {"<": ">", ">": "<", "=": "="}[relation]


def _interval(relation: str, value: float) -> tuple[float, float]:
    """The interval of an expression that stands in `relation` to `value`."""
    return (-np.inf if relation == "<" else value), (np.inf if relation == ">" else value)


def read_lp(text: str) -> Parsed:
    """The content of an LP file."""
    reader = _Reader()
    for section in sections(text):
        tokens = Tokens(section)
        kind = _KIND.get(section.title[:2]) if section.title != "general constraints" else None
        if kind in ("min", "max"):
            reader.maximise = kind == "max"
            reader.objective(tokens)
        elif kind == "rows":
            reader.constraints(tokens)
        elif kind == "bounds":
            while tokens.now:
                reader.bound(tokens)
        elif kind in ("binary", "integer"):
            reader.integers(tokens, binary=kind == "binary")
        elif tokens.now and section.title != "end":
            raise ReadError(f"section {section.title!r} is not supported.", section.line)
    return reader.parsed()
