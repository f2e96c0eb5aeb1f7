"""What a file says, before it is a Program; and how it becomes one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..modelling.blocks import Block
from ..modelling.indicators import Indicators
from ..modelling.program import Program
from ..reductions.constant_to_column import COLUMN
from .digits import INFINITE


@dataclass
class Parsed:
    """Columns and rows in the file's order; Q and the indicators as lists of entries."""

    columns: list[str]
    rows: list[str]
    c: np.ndarray[Any, Any]
    A: sp.csr_array
    row_lower: np.ndarray[Any, Any]
    row_upper: np.ndarray[Any, Any]
    lower: np.ndarray[Any, Any]
    upper: np.ndarray[Any, Any]
    integer: np.ndarray[Any, Any]
    hessian: list[tuple[int, int, float]] = field(default_factory=list)  # entries of the full Q
    indicators: list[tuple[int, int, int]] = field(default_factory=list)  # row, column, value
    constant: float = 0.0
    maximise: bool = False
    name: str = "program"
    remarks: list[str] = field(default_factory=list)  # what a user should know: where readers disagree about the file


def to_program(parsed: Parsed) -> Program:
    """A Program that minimises: a file that maximises is negated. Blocks are guessed from the names."""
    sign = -1.0 if parsed.maximise else 1.0
    n = len(parsed.columns)
    Q = None
    if parsed.hessian:
        i, j, value = (np.array(part) for part in zip(*parsed.hessian, strict=True))
        Q = sp.csc_array(sp.coo_array((sign * value.astype(np.float64), (i, j)), shape=(n, n)))
    row, column, on = (np.array(p) for p in zip(*parsed.indicators, strict=True)) if parsed.indicators else [()] * 3
    program = Program(
        c=sign * parsed.c,
        A=parsed.A,
        row_lower=_open(parsed.row_lower),
        row_upper=_open(parsed.row_upper),
        lower=_open(parsed.lower),
        upper=_open(parsed.upper),
        integer=parsed.integer,
        Q=Q,
        constant=sign * parsed.constant,
        indicators=Indicators(np.array(row, np.int64), np.array(column, np.int64), np.array(on, np.int8)),
        variables=guess_blocks(parsed.columns, "x"),
        rows=guess_blocks(parsed.rows, "row"),
        name=parsed.name,
    )
    return _fold_constant(program, parsed.columns)


def _open(bounds: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Files write 1e30 where a number must stand for infinity."""
    return np.where(np.abs(bounds) >= INFINITE, np.copysign(np.inf, bounds), bounds)


def _fold_constant(program: Program, columns: Sequence[str]) -> Program:
    """The column `objective_constant`, last, fixed at 1 and in no row, is the constant it stands for."""
    j = program.n_columns - 1
    is_constant = (
        j > 0
        and columns[j] == COLUMN
        and program.lower[j] == program.upper[j] == 1
        and not (program.A.indices == j).any()
        and (program.Q is None or not (program.Q.indices == j).any())
    )
    if not is_constant:
        return program
    Q = program.Q
    return program.replace_with(
        c=program.c[:j],
        constant=program.constant + float(program.c[j]),
        A=sp.csr_array((program.A.data, program.A.indices, program.A.indptr), shape=(program.n_rows, j)),
        Q=sp.csc_array(Q[:j, :j]) if Q is not None else None,
        lower=program.lower[:j],
        upper=program.upper[:j],
        integer=program.integer[:j],
        variables=guess_blocks(columns[:j], "x"),
    )


def guess_blocks(names: Sequence[str], fallback: str) -> tuple[Block, ...]:
    """w_age, w_sex, b become the blocks w (labels age, sex) and b; anything less orderly one block of labelled entries."""
    runs: list[tuple[str, list[str] | None]] = []
    for name in names:
        base, separator, label = name.partition("_")
        if not base or not separator or not label:
            runs.append((name, None))
        elif runs and runs[-1][0] == base and runs[-1][1] is not None:
            runs[-1][1].append(label)
        else:
            runs.append((base, [label]))
    if len({base for base, _ in runs}) != len(runs) or len(runs) > 1000:
        runs = [(fallback, list(names))]
    blocks, start = [], 0
    for base, labels in runs:
        shape = () if labels is None else (len(labels),)
        blocks.append(Block(base, start, shape, () if labels is None else (_positions(labels),)))
        start += blocks[-1].size
    return tuple(blocks)


def _positions(labels: list[str]) -> tuple[str, ...] | None:
    """None when the labels are just 0, 1, 2, ..."""
    plain = re.fullmatch(r"\d+", labels[-1]) is not None and int(labels[-1]) == len(labels) - 1
    return None if plain and all(map(str.__eq__, labels, map(str, range(len(labels))))) else tuple(labels)
