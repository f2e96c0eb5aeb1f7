"""LP files.

Minimize    obj: +1 error_0 ... + [ +2 w_age ^2 ] / 2
Subject To  margin_0: -0.5 w_age +1 b >= 1             error_0 = 0 -> ... for a native indicator
Bounds      -1 <= w_age <= 1, b free                   one line a column, in the program's order
Binaries, Generals, End
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..arrays import Array
from .digits import signed, texts
from .names import NO_ROWS, OBJECTIVE
from .portable import Portable, block_notes, remarks, widest

_LINE = 300  # characters of terms; with a label, a condition and a right-hand side the language's limit of 560 is kept
_CHUNK = 200_000  # terms formatted at a time, which bounds the memory
_SIGN = np.array(["+", ""], dtype=object)  # the sign of a row's first number, where it does not bring its own
_GLUE = np.array([" +", " ", "\n  +", "\n  "], dtype=object)  # before a number: same line or next, positive or negative


def write_lp(content: Portable, stream: IO[str]) -> None:
    """Write the program in LP format."""
    program = content.program
    width = max(1, _LINE // (widest(content.columns) + 26))  # terms a line
    names = np.array(content.columns, dtype=object)
    stream.write("".join(f"\\ {line}\n" for line in remarks(content)))
    stream.write(f"Minimize\n {OBJECTIVE}: {_objective(content, names, width)}\nSubject To\n")
    for text in _rows(content, names, width):
        stream.write(text)
    if not program.n_rows:  # GLPK refuses a file without rows
        stream.write(f" {NO_ROWS}: +0 {names[0]} >= -1e+30\n")
    stream.write("Bounds\n")
    stream.write("".join(_bounds(content)))
    binary = program.integer & (program.lower == 0) & (program.upper == 1)
    for title, which in (("Binaries", binary), ("Generals", program.integer & ~binary)):
        if which.any():
            stream.write(f"{title}\n " + "\n ".join(names[which].tolist()) + "\n")
    stream.write("End\n")


def _objective(content: Portable, names: NDArray[Any], width: int) -> str:
    program = content.program
    # A column that nothing mentions would not exist for a reader: it gets a zero here.
    unused = np.bincount(program.A.indices, minlength=program.n_columns) == 0
    shown = np.flatnonzero((program.c != 0) | unused)
    if not len(shown):
        shown = np.zeros(1, dtype=np.int64)
    text = _wrapped(_terms(program.c[shown], names[shown]), width)
    if program.Q is None:
        return text
    upper = sp.coo_array(sp.triu(program.Q, format="csc"))
    diagonal = upper.coords[0] == upper.coords[1]
    values = signed(np.where(diagonal, upper.data, 2 * upper.data))
    products = [  # SCIP wants ^2 in one piece
        f"{value} {i} ^2" if i == j else f"{value} {i} * {j}"
        for value, i, j in zip(values, names[upper.coords[0]], names[upper.coords[1]], strict=True)
    ]
    return f"{text}\n + [ {_wrapped(products, max(1, width // 2))} ] / 2"


def _terms(coefficients: Array, names: NDArray[Any]) -> list[str]:
    return [f"{value} {name}" for value, name in zip(signed(coefficients), names.tolist(), strict=True)]


def _wrapped(terms: list[str], width: int) -> str:
    if len(terms) <= width:
        return " ".join(terms)
    return "\n  ".join([" ".join(terms[k : k + width]) for k in range(0, len(terms), width)])


def _rows(content: Portable, names: NDArray[Any], width: int) -> Iterator[str]:
    """The rows as text, a chunk of about _CHUNK terms at a time.

    A term is glue + number + name. The glue of a row's first term holds its label, the name of its last term is followed by
    relation and right-hand side, so that one join over flat arrays makes the text.
    """
    data, indices, indptr = _without_empty_rows(content.program.A)
    senses, sides = _senses(content.program.row_lower, content.program.row_upper)
    conditions, notes = _conditions(content), block_notes(content.program.rows)
    start, m = 0, content.program.n_rows
    while start < m:
        stop = int(np.searchsorted(indptr, indptr[start] + _CHUNK, side="right")) - 1
        stop = min(max(stop, start + 1), m)
        span, rows = slice(indptr[start], indptr[stop]), slice(start, stop)
        cuts = indptr[start : stop + 1] - indptr[start]
        first, last = cuts[:-1], cuts[1:] - 1
        negative = data[span] < 0
        wraps = (np.arange(cuts[-1]) - np.repeat(first, np.diff(cuts))) % width == 0
        glue = _GLUE[2 * wraps + negative]
        opened = zip(content.rows[rows], conditions[rows], _SIGN[negative[first].astype(int)], strict=True)
        glue[first] = [f" {label}: {condition}{sign}" for label, condition, sign in opened]
        for row in (row for row in notes if start <= row < stop):
            glue[first[row - start]] = f"\\ {notes[row]}\n{glue[first[row - start]]}"
        shown = names[indices[span]]
        shown[last] = [f"{x} {r} {v}\n" for x, r, v in zip(shown[last], senses[rows], sides[rows], strict=True)]
        parts = [" "] * (4 * len(glue))
        parts[0::4], parts[1::4], parts[3::4] = glue.tolist(), texts(data[span]), shown.tolist()
        yield "".join(parts)
        start = stop


def _without_empty_rows(A: sp.csr_array) -> tuple[Array, NDArray[Any], NDArray[Any]]:
    """CSR arrays in which a row without terms holds a zero of the first column: the language has no empty sums."""
    empty = np.diff(A.indptr) == 0
    if not empty.any():
        return A.data, A.indices, A.indptr
    at = A.indptr[:-1][empty]
    indptr = A.indptr + np.concatenate([[0], np.cumsum(empty)])
    return np.insert(A.data, at, 0.0), np.insert(A.indices, at, 0), indptr


def _senses(lower: Array, upper: Array) -> tuple[list[str], list[str]]:
    """`>=`, `<=` or `=`, and the right-hand side; a free row has the right-hand side -1e+30."""
    equal = lower == upper
    at_most = np.isinf(lower) & np.isfinite(upper)
    senses = np.where(equal, "=", np.where(at_most, "<=", ">="))
    return senses.tolist(), texts(np.where(at_most, upper, lower))


def _conditions(content: Portable) -> list[str]:
    """`z = 1 -> ` in front of a row that has an indicator, nothing in front of the others."""
    indicators = content.program.indicators
    found = [""] * content.program.n_rows
    for row, column, value in zip(indicators.row, indicators.column, indicators.value, strict=True):
        found[row] = f"{content.columns[column]} = {value} -> "
    return found


def _bounds(content: Portable) -> list[str]:
    """One line a column, the columns of each kind together and then put back in order."""
    lower, upper = content.program.lower, content.program.upper
    free = (lower == -np.inf) & (upper == np.inf)
    fixed = (lower == upper) & np.isfinite(lower)
    no_upper = (upper == np.inf) & ~free
    no_lower = (lower == -np.inf) & ~free & ~no_upper
    two_sided = ~(free | fixed | no_upper | no_lower)
    names = np.array(content.columns, dtype=object)
    lines = np.empty(len(names), dtype=object)
    lines[free] = [f" {x} free\n" for x in names[free]]
    lines[fixed] = [f" {x} = {v}\n" for x, v in zip(names[fixed], texts(lower[fixed]), strict=True)]
    lines[no_upper] = [f" {x} >= {v}\n" for x, v in zip(names[no_upper], texts(lower[no_upper]), strict=True)]
    lines[no_lower] = [f" -inf <= {x} <= {v}\n" for x, v in zip(names[no_lower], texts(upper[no_lower]), strict=True)]
    ends = zip(names[two_sided], texts(lower[two_sided]), texts(upper[two_sided]), strict=True)
    lines[two_sided] = [f" {low} <= {x} <= {high}\n" for x, low, high in ends]
    for column, note in block_notes(content.program.variables).items():
        lines[column] = f"\\ {note}\n{lines[column]}"
    return lines.tolist()
