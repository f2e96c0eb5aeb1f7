"""What is written: the program in a form that every reader understands alike, with its names.

Files hold no ranged rows, no objective constant and (unless asked for) no indicators, since readers disagree on them:
a ranged row becomes two rows, the constant a column fixed at 1, an indicator a big-M row.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InvalidInputError
from ..modelling.program import Feature, Program
from ..reductions.chain import NO_INDICATORS, Chain, road_to
from ..reductions.constant_to_column import COLUMN, ConstantToColumn
from ..reductions.ranged_to_pairs import RangedToPairs
from .names import NO_ROWS, OBJECTIVE, legal_names

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
    described, _ = road_to(INDICATORS[indicators]).apply(program)
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


def remarks(content: Portable) -> list[str]:
    """What the head of a file says about it."""
    name = "".join(c if c.isprintable() and c.isascii() else " " for c in content.described.name)
    lines = [f"{name}: {content.described.kind}, written by mipclass"]
    if content.indicators == "native":
        lines.append("Holds indicator constraints: CBC and SYMPHONY misread them; SCIP, CPLEX and Gurobi read them.")
    elif content.indicators == "bigm":
        lines.append("Indicator rows are written in big-M form.")
    return lines


def widest(names: list[str]) -> int:
    """The length of the longest name, at least 1."""
    return max(map(len, names), default=1)
