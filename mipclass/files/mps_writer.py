"""Free-format MPS files: every column has its bounds spelled out, integers stand between markers, binaries are BV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .digits import texts
from .names import OBJECTIVE, legal
from .portable import Portable, block_notes, remarks

_CHUNK = 200_000  # entries formatted at a time, which bounds the memory


def write_mps(content: Portable, stream: IO[str]) -> None:
    """Write the program in free MPS format."""
    notes = [*block_notes(content.program.variables).values(), *block_notes(content.program.rows).values()]
    stream.write("".join(f"* {line}\n" for line in [*remarks(content), *notes]))
    # CBC guesses the format from the columns unless it is told that it is free.
    stream.write(f"NAME {legal(content.described.name)} FREE\nROWS\n N {OBJECTIVE}\n")
    program = content.program
    equal = program.row_lower == program.row_upper
    at_most = np.isinf(program.row_lower) & np.isfinite(program.row_upper)
    senses = np.where(equal, "E", np.where(at_most, "L", "G")).tolist()
    stream.write("".join([f" {sense} {row}\n" for sense, row in zip(senses, content.rows, strict=True)]))
    stream.write("COLUMNS\n")
    for lines in _columns(content):
        stream.write(lines)
    side = np.where(at_most, program.row_upper, program.row_lower)
    rows = zip(content.rows, texts(side), (side != 0).tolist(), strict=True)
    stream.write("RHS\n" + "".join([f" RHS {row} {value}\n" for row, value, shown in rows if shown]))
    stream.write("BOUNDS\n" + "".join(_bounds(content)))
    _hessian(content, stream)
    if len(program.indicators):
        stream.write("INDICATORS\n")
        indicators = program.indicators
        for row, column, value in zip(indicators.row, indicators.column, indicators.value, strict=True):
            stream.write(f" IF {content.rows[row]} {content.columns[column]} {value}\n")
    stream.write("ENDATA\n")


def _columns(content: Portable) -> Iterator[str]:
    """The columns as text, a chunk at a time; a column without entries shows a zero in the objective."""
    program = content.program
    shown = np.flatnonzero((program.c != 0) | (np.bincount(program.A.indices, minlength=program.n_columns) == 0))
    costs = sp.csr_array((program.c[shown], shown, [0, len(shown)]), shape=(1, program.n_columns))
    table = sp.csc_array(sp.vstack([costs, program.A], format="csc"))
    table.sort_indices()
    names = np.array(content.columns, dtype=object)
    rows = np.array([f"{row} " for row in (OBJECTIVE, *content.rows)], dtype=object)
    n = program.n_columns
    # Runs of columns of one kind: a marker opens and closes each run of integers.
    turns = np.flatnonzero(np.diff(program.integer.astype(np.int8))) + 1
    start, inside = 0, False
    for stop in [*turns.tolist(), n]:
        if program.integer[start] != inside:
            inside = not inside
            yield f" MARKER 'MARKER' '{'INTORG' if inside else 'INTEND'}'\n"
        while start < stop:
            end = int(np.searchsorted(table.indptr, table.indptr[start] + _CHUNK, side="right")) - 1
            end = min(max(end, start + 1), stop)
            yield _entries(table, names, rows, start, end)
            start = end
    if inside:
        yield " MARKER 'MARKER' 'INTEND'\n"


def _entries(table: sp.csc_array, names: NDArray[Any], rows: NDArray[Any], start: int, end: int) -> str:
    """Lines `column row value` of the columns start ... end - 1, by one join over flat arrays."""
    counts = np.diff(table.indptr[start : end + 1])
    span = slice(table.indptr[start], table.indptr[end])
    heads = np.array([f" {name} " for name in names[start:end]], dtype=object)
    parts = ["\n"] * (4 * int(counts.sum()))
    parts[0::4] = np.repeat(heads, counts).tolist()
    parts[1::4] = rows[table.indices[span]].tolist()
    parts[2::4] = texts(table.data[span])
    return "".join(parts)


def _bounds(content: Portable) -> list[str]:
    """The lines of each column, those of each kind together and then put back in order."""
    program = content.program
    lower, upper = program.lower, program.upper
    binary = program.integer & (lower == 0) & (upper == 1)
    free = (lower == -np.inf) & (upper == np.inf)
    fixed = (lower == upper) & np.isfinite(lower)
    no_upper = (upper == np.inf) & ~free
    no_lower = (lower == -np.inf) & ~free & ~no_upper
    two_sided = ~(binary | free | fixed | no_upper | no_lower)
    names = np.array(content.columns, dtype=object)
    lines = np.empty(len(names), dtype=object)
    lines[binary] = [f" BV BND {x}\n" for x in names[binary]]
    lines[free] = [f" FR BND {x}\n" for x in names[free]]
    lines[fixed] = [f" FX BND {x} {v}\n" for x, v in zip(names[fixed], texts(lower[fixed]), strict=True)]
    lows = zip(names[no_upper], texts(lower[no_upper]), strict=True)
    lines[no_upper] = [f" LO BND {x} {v}\n PL BND {x}\n" for x, v in lows]
    highs = zip(names[no_lower], texts(upper[no_lower]), strict=True)
    lines[no_lower] = [f" MI BND {x}\n UP BND {x} {v}\n" for x, v in highs]
    ends = zip(names[two_sided], texts(lower[two_sided]), texts(upper[two_sided]), strict=True)
    # UP first: some readers let a negative UP reset the lower bound.
    lines[two_sided] = [f" UP BND {x} {high}\n LO BND {x} {low}\n" for x, low, high in ends]
    return lines.tolist()


def _hessian(content: Portable, stream: IO[str]) -> None:
    if content.program.Q is None:
        return
    lower = sp.coo_array(sp.tril(content.program.Q, format="csc"))
    stream.write("QUADOBJ\n")
    for i, j, value in zip(*lower.coords, texts(lower.data), strict=True):
        stream.write(f" {content.columns[j]} {content.columns[i]} {value}\n")
