"""Reads LP files: the common ground of CPLEX, Gurobi, SCIP, HiGHS and GLPK.

Objective (linear, constant, [ quadratic ] / 2), rows with one or two sides, indicator rows `z = 1 -> ...`, bounds, binaries
and generals. Special ordered sets, semi-continuous columns, lazy rows and general constraints are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from ..errors import ReadError
from .names import NO_ROWS
from .parsed import Parsed

# Gurobi and others write x[1,a]; a bracket inside a name is never after a blank, unlike that of a quadratic part.
_NAME = r"[A-Za-z_!\"#$%&(),;?@'`{}|~](?:[A-Za-z0-9_!\"#$%&(),.;?@'`{}|~]|\[[A-Za-z0-9_,.]*\])*"
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_TOKEN = re.compile(rf"{_NUMBER}|{_NAME}\s*:|{_NAME}|->|[<>=]=|=[<>]|\S")
_SECTION = re.compile(
    r"^[ \t]*(minimi[sz]e|minimum|min|maximi[sz]e|maximum|max|subject[ \t]+to|such[ \t]+that|s\.t\.|st\.|st|bounds?|binary|binaries"
    r"|bin|general[ \t]+constraints|generals?|gen|integers?|int|semi-continuous|semis?|sos[12]?|lazy[ \t]+constraints|user[ \t]+cuts"
    r"|end)(?=[\s]|$)(?![ \t]*:)",
    re.IGNORECASE | re.MULTILINE,
)
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
_INFINITE = {"inf", "infinity"}


class _Tokens:
    """The tokens of a section with a place to look at."""

    def __init__(self, text: str) -> None:
        self.all = _TOKEN.findall(text)
        self.at = 0

    @property
    def now(self) -> str:
        return self.all[self.at] if self.at < len(self.all) else ""

    def take(self) -> str:
        token = self.now
        self.at += 1
        return token

    def expect(self, *allowed: str) -> str:
        token = self.take()
        if token not in allowed:
            raise ReadError(f"expected {' or '.join(map(repr, allowed))}{self.near()}.")
        return token

    def near(self) -> str:
        words = self.all[max(0, self.at - 6) : self.at + 2]
        return f" near '{' '.join(words)}'"


class _Reader:
    def __init__(self) -> None:
        self.column_at: dict[str, int] = {}
        self.entries: tuple[list[int], list[int], list[float]] = ([], [], [])
        self.rows: dict[str, tuple[float, float]] = {}
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

    def linear(self, tokens: _Tokens) -> tuple[list[int], list[float], float]:
        """Terms up to the first token that cannot belong to a sum: (columns, coefficients, constant)."""
        columns: list[int] = []
        coefficients: list[float] = []
        constant = 0.0
        words, at, column_at = tokens.all, tokens.at, self.column_at
        sign, number = 1.0, None
        while at < len(words):
            word = words[at]
            first = word[0]
            if first in "+-":
                if number is not None:
                    constant += sign * number
                    number, sign = None, 1.0
                sign = -sign if first == "-" else sign
            elif first in "0123456789.":
                if number is not None:
                    break
                number = float(word)
            elif first in "<>=[]*/^" or word[-1] == ":" or word == "->":
                break
            else:
                columns.append(column_at.setdefault(word, len(column_at)))
                coefficients.append(sign if number is None else sign * number)
                sign, number = 1.0, None
            at += 1
        if number is not None:
            constant += sign * number
        elif at > tokens.at and words[at - 1] in "+-" and (at == len(words) or words[at] != "["):
            tokens.at = at
            raise ReadError(f"a sign without a term{tokens.near()}.")
        tokens.at = at
        return columns, coefficients, constant

    def number(self, tokens: _Tokens) -> float:
        sign = 1.0
        while tokens.now in ("+", "-"):
            sign = -sign if tokens.take() == "-" else sign
        word = tokens.take()
        if word.lower() in _INFINITE:
            return sign * np.inf
        try:
            return sign * float(word)
        except ValueError:
            raise ReadError(f"expected a number{tokens.near()}.") from None

    # -- sections -------------------------------------------------------------------------------------------------------

    def objective(self, text: str) -> None:
        tokens = _Tokens(text)
        if tokens.now.endswith(":"):
            tokens.take()
        while tokens.now:
            if tokens.now == "[":
                self.quadratic(tokens)
                continue
            before = tokens.at
            columns, coefficients, constant = self.linear(tokens)
            self.costs[0].extend(columns)
            self.costs[1].extend(coefficients)
            self.constant += constant
            if tokens.at == before:
                raise ReadError(f"the objective cannot be read{tokens.near()}.")

    def quadratic(self, tokens: _Tokens) -> None:
        sign = -1.0 if tokens.at and tokens.all[tokens.at - 1] == "-" else 1.0
        tokens.expect("[")
        products: list[tuple[int, int, float]] = []
        while tokens.now != "]":
            value = 1.0
            while tokens.now in ("+", "-"):
                value = -value if tokens.take() == "-" else value
            if tokens.now and tokens.now[0] in "0123456789.":
                value *= float(tokens.take())
            i = self.column(tokens.take())
            if tokens.expect("^", "*") == "^":
                tokens.expect("2")
                products.append((i, i, value))
            else:
                products.append((i, self.column(tokens.take()), value))
        tokens.take()
        half = tokens.now == "/"
        if half:
            tokens.take()
            tokens.expect("2")
        for i, j, value in products:  # the bracket holds x'Qx when halved, else 1/2 x'(2Q)x
            entry = sign * (value if half else 2 * value)
            self.hessian += [(i, i, entry)] if i == j else [(i, j, entry / 2), (j, i, entry / 2)]

    def constraints(self, text: str) -> None:
        tokens = _Tokens(text)
        while tokens.now:
            label = tokens.take()[:-1].strip() if tokens.now.endswith(":") else f"R{len(self.rows) + 1}"
            if label in self.rows:
                raise ReadError(f"row {label!r} is declared twice.")
            self.condition(tokens)
            self.row(label, tokens)

    def condition(self, tokens: _Tokens) -> None:
        """`z = 1 ->` in front of a row."""
        ahead = tokens.all[tokens.at : tokens.at + 4]
        if len(ahead) == 4 and ahead[3] == "->":
            if ahead[1] != "=" or ahead[2] not in ("0", "1"):
                raise ReadError(f"an indicator reads 'z = 0 ->' or 'z = 1 ->'; got {' '.join(ahead)!r}.")
            self.indicators.append((len(self.rows), self.column(ahead[0]), int(ahead[2])))
            tokens.at += 4

    def row(self, label: str, tokens: _Tokens) -> None:
        low, high = -np.inf, np.inf
        columns, coefficients, constant = self.linear(tokens)
        relation = _relation(tokens)
        if not columns:  # l <= a.x <= u
            low, high = _tightened(low, high, _flipped(relation), constant)
            columns, coefficients, constant = self.linear(tokens)
            relation = _relation(tokens)
        side = self.number(tokens)
        low, high = _tightened(low - constant, high - constant, relation, side - constant)
        rows, all_columns, values = self.entries
        rows.extend([len(self.rows)] * len(columns))
        all_columns.extend(columns)
        values.extend(coefficients)
        self.rows[label] = (low, high)

    def bound(self, line: str) -> None:
        """`l <= x <= u`, `x >= l`, `x <= u`, `x = v` or `x free`; a side that is not mentioned keeps its value."""
        tokens = _Tokens(line)
        said: list[tuple[str, float]] = []
        if not _is_name(tokens.now):
            value = self.number(tokens)
            said.append((_flipped(_relation(tokens)), value))
        name = tokens.take()
        if not _is_name(name):
            raise ReadError(f"a bound needs the name of a column{tokens.near()}.")
        if tokens.now.lower() == "free":
            tokens.take()
            said += [(">", -np.inf), ("<", np.inf)]
        elif tokens.now:
            relation = _relation(tokens)
            said.append((relation, self.number(tokens)))
        if tokens.now:
            raise ReadError(f"more than one bound on a line{tokens.near()}.")
        self.listed[self.column(name)] = None
        bounds = self.bounds.setdefault(self.column(name), [0.0, np.inf])
        for relation, value in said:
            if relation != "<":
                bounds[0] = value
            if relation != ">":
                bounds[1] = value
        if bounds[1] < 0 and bounds[0] == 0 and all(relation == "<" for relation, _ in said):
            raise ReadError(
                f"column {name!r} has the upper bound {bounds[1]:g} and no lower bound; readers disagree on what that means. "
                f"Write '-inf <= {name} <= {bounds[1]:g}'."
            )

    def integers(self, text: str, *, binary: bool) -> None:
        for name in text.split():
            j = self.column(name)
            self.integer.add(j)
            if binary:
                low, high = self.bounds.get(j, (0.0, 1.0))
                self.bounds[j] = [max(low, 0.0), min(high, 1.0)]

    # -- result ---------------------------------------------------------------------------------------------------------

    def parsed(self) -> Parsed:
        if list(self.rows) == [NO_ROWS]:
            self.rows, self.entries = {}, ([], [], [])
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
        names = list(self.column_at)
        return Parsed(
            columns=[names[j] for j in order],
            rows=list(self.rows),
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


def _is_name(word: str) -> bool:
    return word.lower() not in _INFINITE and re.fullmatch(_NAME, word) is not None


def _relation(tokens: _Tokens) -> str:
    """The next token as `<`, `>` or `=`."""
    word = tokens.expect("<", "<=", "=<", ">", ">=", "=>", "=")
    return "=" if word == "=" else "<" if "<" in word else ">"


def _flipped(relation: str) -> str:
    return {"<": ">", ">": "<", "=": "="}[relation]


def _tightened(low: float, high: float, relation: str, value: float) -> tuple[float, float]:
    """The interval [low, high] of an expression after `expression relation value`."""
    if relation == "=":
        return value, value
    return (low, min(high, value)) if relation == "<" else (max(low, value), high)


def _sections(text: str) -> Iterator[tuple[str, str]]:
    found = list(_SECTION.finditer(text))
    if not found or not found[0].group(1).lower().startswith(("mi", "ma")):
        raise ReadError("an LP file begins with Minimize or Maximize.")
    if text[: found[0].start()].strip():
        raise ReadError(f"text before the objective: {text[: found[0].start()].strip()[:40]!r}.")
    for header, following in zip(found, [*found[1:], None], strict=True):
        title = " ".join(header.group(1).lower().split())
        yield title, text[header.end() : following.start() if following else None]
        if title == "end":
            return
    raise ReadError("the file ends without End; it is cut off or not an LP file.")


def read_lp(text: str) -> Parsed:
    """The content of an LP file."""
    reader = _Reader()
    for title, body in _sections(re.sub(r"\\.*", "", text)):
        kind = _KIND.get(title[:2]) if title != "general constraints" else None
        if kind in ("min", "max"):
            reader.maximise = kind == "max"
            reader.objective(body)
        elif kind == "rows":
            reader.constraints(body)
        elif kind == "bounds":
            for line in filter(str.strip, body.splitlines()):
                reader.bound(line)
        elif kind in ("binary", "integer"):
            reader.integers(body, binary=kind == "binary")
        elif body.strip() and title != "end":
            raise ReadError(f"section {title!r} is not supported.")
    return reader.parsed()
