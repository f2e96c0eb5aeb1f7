"""Why nothing is feasible: an irreducible set of rows and bounds that contradict each other, found with HiGHS.

For an LP (or a MIP whose relaxation is already infeasible) HiGHS's own search gives the set, and a Farkas ray over it proves
the contradiction. For a MIP that only its integers make infeasible, QuickXplain (Junker, 2004) asks HiGHS about subsets of
rows; bounds and integrality then stay in force throughout.

Reference: U. Junker, QuickXplain: preferred explanations and relaxations for over-constrained problems, AAAI 2004.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..modelling.program import Program
from ..protocol.result import Status
from ..protocol.run import Run
from ..reductions.indicator_to_bigm import IndicatorToBigM
from .highs import HighsBackend
from .highs_object import check, load

_SIDES = {2: "lower", 3: "upper", 4: "both"}  # HighsIis's bound status
_IRREDUCIBLE, _BOUNDS_LAST = 4, 8  # bits of HiGHS's iis_strategy: rows are kept rather than bounds


@dataclass(frozen=True)
class Conflict:
    """Rows and column bounds that cannot hold together.

    rows, row_sides : positions of the rows and which of their sides matter ("lower", "upper" or "both").
    columns, column_sides : likewise for bounds of columns.
    needs_integrality : the relaxation of the conflict is feasible; without the integers there is none.
    irreducible : dropping any one row leaves something feasible (False when time ran out first).
    ray : Farkas multipliers over all rows of the program (see Solution.ray), where the relaxation is infeasible.
    """

    rows: NDArray[np.int64]
    row_sides: tuple[str, ...]
    columns: NDArray[np.int64]
    column_sides: tuple[str, ...]
    needs_integrality: bool
    irreducible: bool
    ray: Array | None = None

    def restricted(self, program: Program) -> Program:
        """The program with nothing but this conflict left: other rows and bounds are lifted, the objective is dropped."""
        off_rows = np.ones(program.n_rows, dtype=bool)
        off_rows[self.rows] = False
        lower, upper = np.array(program.lower), np.array(program.upper)
        if not self.needs_integrality:
            off_columns = np.ones(program.n_columns, dtype=bool)
            off_columns[self.columns] = False
            lower[off_columns], upper[off_columns] = -np.inf, np.inf
        integer = program.integer & self.needs_integrality
        return _bare(program, integer).replace_with(
            row_lower=np.where(off_rows, -np.inf, program.row_lower),
            row_upper=np.where(off_rows, np.inf, program.row_upper),
            lower=lower,
            upper=upper,
        )

    def blocks(self, program: Program) -> dict[str, list[str]]:
        """The conflict in the program's words: row block -> names of its rows."""
        names = program.row_names()
        found: dict[str, list[str]] = {}
        for block in program.rows:
            inside = [names[i] for i in self.rows if block.start <= i < block.stop]
            if inside:
                found[block.name] = inside
        return found

    def conditions(self, program: Program) -> tuple[str, ...]:
        """Names of the rows, then the bounds as inequalities."""
        row_names, names = program.row_names(), program.column_names()
        bounds = zip(self.columns.tolist(), self.column_sides, strict=True)
        return (*(row_names[i] for i in self.rows), *(_bound_text(program, names[j], j, side) for j, side in bounds))

    def explain(self, program: Program, most: int = 12) -> str:
        """One sentence for people."""
        parts = self.conditions(program)
        shown = ", ".join(parts[:most]) + (f" and {len(parts) - most} more" if len(parts) > most else "")
        whole = " with whole-number variables" if self.needs_integrality else ""
        return f"{len(parts)} conditions of {program.name!r} cannot hold together{whole}: {shown}."


def find_conflict(program: Program, run: Run | None = None) -> Conflict | None:
    """A conflict of an infeasible program; None when HiGHS finds the program feasible or cannot tell in time.

    Indicator rows are looked at as big-M rows, and named as the rows they were.
    """
    run = run or Run.quiet()
    if len(program.indicators):
        reduced, receipt = IndicatorToBigM().apply(program)
        found = find_conflict(reduced, run)
        return None if found is None else _translated(found, receipt.row_origin, program)
    relaxation = _bare(program, np.zeros(program.n_columns, dtype=bool))
    if _is_infeasible(relaxation, run):
        return _linear_conflict(relaxation, run)
    if not program.is_integer:
        return None
    return _integer_conflict(_bare(program, program.integer), run)


def quickxplain(candidates: list[int], conflicts: Callable[[list[int]], bool]) -> list[int]:
    """An irreducible subset of `candidates` for which `conflicts` holds, given that it holds for all of them.

    Asks about O(k log(n/k)) subsets when the answer has k members.
    """

    def split(background: list[int], fresh: bool, rest: list[int]) -> list[int]:
        if fresh and conflicts(background):
            return []
        if len(rest) == 1:
            return rest
        half = len(rest) // 2
        left, right = rest[:half], rest[half:]
        from_right = split(background + left, bool(left), right)
        from_left = split(background + from_right, bool(from_right), left)
        return from_left + from_right

    if not candidates or conflicts([]):
        return []
    return split([], False, candidates)


def _bare(program: Program, integer: NDArray[np.bool_]) -> Program:
    return program.replace_with(c=np.zeros(program.n_columns), Q=None, integer=integer)


def _is_infeasible(program: Program, run: Run) -> bool:
    return HighsBackend().solve(program, run.inner()).status is Status.INFEASIBLE


def _linear_conflict(program: Program, run: Run) -> Conflict | None:
    iis = _highs_iis(program, run)
    if iis is None:
        return None
    rows, columns = np.array(iis.row_index_, dtype=np.int64), np.array(iis.col_index_, dtype=np.int64)
    row_sides = [_SIDES.get(int(side), "") for side in iis.row_bound_]
    column_sides = [_SIDES.get(int(side), "") for side in iis.col_bound_]
    matters = np.array([bool(side) for side in column_sides], dtype=bool)
    conflict = Conflict(
        rows=rows,
        row_sides=tuple(row_sides),
        columns=columns[matters] if len(columns) else columns,
        column_sides=tuple(side for side in column_sides if side),
        needs_integrality=False,
        irreducible=run.stop() is None,
    )
    proof = HighsBackend().solve(conflict.restricted(program), run.inner(presolve="off"))
    if proof.status is not Status.INFEASIBLE:
        return None
    return Conflict(**{**vars(conflict), "ray": proof.ray})


def _highs_iis(program: Program, run: Run) -> Any | None:
    """HiGHS's HighsIis, or None when it has none."""
    for strategy in (_IRREDUCIBLE | _BOUNDS_LAST, _IRREDUCIBLE):
        highs = load(program)
        check(highs.setOptionValue("iis_strategy", strategy), "choose the search for a conflict")
        if run.time_limit is not None:
            check(
                highs.setOptionValue("iis_time_limit", max(1e-3, run.seconds_left())), "limit the search for a conflict"
            )
        status, iis = highs.getIis()
        if status.name != "kError" and iis.valid_ and (len(iis.row_index_) or len(iis.col_index_)):
            return iis
    return None


def _integer_conflict(program: Program, run: Run) -> Conflict | None:
    if not _is_infeasible(program, run):
        return None
    everything = list(range(program.n_rows))

    def conflicts(rows: list[int]) -> bool:
        if run.stop() is not None:
            return False  # unknown counts as feasible, so what is kept still contradicts itself
        keep = np.zeros(program.n_rows, dtype=bool)
        keep[rows] = True
        return _is_infeasible(
            program.replace_with(
                row_lower=np.where(keep, program.row_lower, -np.inf),
                row_upper=np.where(keep, program.row_upper, np.inf),
            ),
            run,
        )

    rows = np.array(sorted(quickxplain(everything, conflicts)), dtype=np.int64)
    lower, upper = np.isfinite(program.row_lower[rows]), np.isfinite(program.row_upper[rows])
    sides = tuple("both" if l and u else "lower" if l else "upper" for l, u in zip(lower, upper, strict=True))
    nothing = np.zeros(0, dtype=np.int64)
    return Conflict(rows, sides, nothing, (), needs_integrality=True, irreducible=run.stop() is None)


def _translated(found: Conflict, origin: NDArray[np.int64], program: Program) -> Conflict:
    """Rows of the big-M program as the indicator rows they came from; the ray belongs to the former and is dropped."""
    rows = origin[found.rows]
    first = {int(row): side for row, side in zip(rows[::-1], found.row_sides[::-1], strict=True)}
    unique = np.unique(rows)
    ray = found.ray if len(origin) == program.n_rows and not len(program.indicators) else None
    return Conflict(**{**vars(found), "rows": unique, "row_sides": tuple(first[int(i)] for i in unique), "ray": ray})


def _bound_text(program: Program, name: str, j: int, side: str) -> str:
    parts = [f"{name} >= {program.lower[j]:g}"] if side in ("lower", "both") else []
    parts += [f"{name} <= {program.upper[j]:g}"] if side in ("upper", "both") else []
    return " and ".join(parts)
