"""What is written: the program in a form that every reader understands alike, with its names.

Files hold no ranged rows, no objective constant and (unless asked for) no indicators, since readers disagree on them:
a ranged row becomes two rows, the constant a column fixed at 1, an indicator a big-M row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InvalidInputError
from ..modelling.blocks import Block
from ..modelling.program import Feature, Program
from ..reductions.chain import NO_INDICATORS, Chain, road_to
from ..reductions.constant_to_column import COLUMN, ConstantToColumn
from ..reductions.ranged_to_pairs import RangedToPairs
from .names import NO_ROWS, OBJECTIVE, legal_names

DIGITS = 3
"""Significant digits of the big-M constants in a file: at most one per cent above the smallest that is justified."""

INDICATORS = {"bigm": NO_INDICATORS, "native": frozenset(Feature)}
"""How indicator rows are written -> what the file then holds."""


@dataclass(frozen=True)
class Portable:
    """`program` as written, with a legal name for each column and row.

    `described` is what reading the file with its sidecar gives back: ranged rows and the constant are in place again.
    The rows of `program` after the first `described.n_rows` are upper sides; `upper_side_of` says of which row.
    """

    program: Program
    described: Program
    columns: list[str]
    rows: list[str]
    upper_side_of: list[int]
    indicators: str


def portable(program: Program, indicators: str = "bigm") -> Portable:
    """The program as it is written, with indicator rows as big-M rows ("bigm") or as they are ("native")."""
    if indicators not in INDICATORS:
        raise InvalidInputError(f"indicators must be 'bigm' or 'native'; got {indicators!r}.")
    if not program.n_columns:
        raise InvalidInputError(f"program {program.name!r} has no columns; there is nothing to write.")
    stated = _with_short_constants(program) if indicators == "bigm" else program
    described, _ = road_to(INDICATORS[indicators]).apply(stated)
    written, receipt = Chain([RangedToPairs(), ConstantToColumn()]).apply(described)
    columns = legal_names(described.variables, taken={COLUMN})
    columns += [COLUMN] * (written.n_columns - described.n_columns)
    return Portable(
        program=written,
        described=described,
        columns=columns,
        rows=legal_names(written.rows, taken={OBJECTIVE, NO_ROWS}),
        upper_side_of=receipt.row_origin[described.n_rows :].tolist(),
        indicators=indicators if len(program.indicators) else "none",
    )


def _with_short_constants(program: Program) -> Program:
    """The program with the models' big-M constants rounded up to DIGITS: any larger M is as valid, and shorter to read."""
    given = program.indicators.big_m
    known = np.isfinite(given) & (given > 0)
    if not known.any():
        return program
    unit = 10.0 ** (np.floor(np.log10(given[known])) - (DIGITS - 1))
    rounded = given.copy()
    rounded[known] = np.maximum(
        given[known], [float(f"{up:.{DIGITS - 1}e}") for up in np.ceil(given[known] / unit) * unit]
    )
    return program.replace_with(indicators=replace(program.indicators, big_m=rounded))


def block_notes(blocks: Sequence[Block]) -> dict[int, str]:
    """First column or row of each block that has a note -> what a comment says of the block."""
    return {block.start: _plain(f"{block}: {block.note}") for block in blocks if block.note and block.size}


def _plain(text: str) -> str:
    """One line of printable ASCII."""
    return "".join(c if c.isprintable() and c.isascii() else " " for c in text)


def remarks(content: Portable) -> list[str]:
    """What the head of a file says about it."""
    lines = [f"{_plain(content.described.name)}: {content.described.kind}, written by mipclass"]
    if content.indicators == "native":
        lines.append("Holds indicator constraints: CBC and SYMPHONY misread them; SCIP, CPLEX and Gurobi read them.")
    elif content.indicators == "bigm":
        lines.append("Indicator rows are written in big-M form.")
    return lines


def widest(names: list[str]) -> int:
    """The length of the longest name, at least 1."""
    return max(map(len, names), default=1)
