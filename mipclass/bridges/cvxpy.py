"""To CVXPY and back: a Program as a cvxpy Problem with named variables, and any cvxpy Problem that is a linear or quadratic
program (after CVXPY's own rewriting of abs, pos, max, norm1 ...) as a Program.

    p = problem.program().to_cvxpy()
    w = p.var_dict["w"]
    q = cvxpy.Problem(p.objective + cvxpy.Minimize(0.1 * cvxpy.norm1(w)), p.constraints)      # go on composing in CVXPY
    result = mipclass.solve(q)                                  # and come back; w.value is set as well
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..errors import InvalidInputError, UnsupportedProgramError
from ..modelling.blocks import Block
from ..modelling.problem import AsStated
from ..modelling.program import Program
from ..protocol.result import Values
from ..reductions.chain import NO_INDICATORS, road_to
from .cvxpy_reader import AUXILIARY, names, read, sign

FEASIBLE = 1e-5
"""Largest violation of a constraint as CVXPY evaluates it, relative to the largest value (at least one), at a point that counts
as feasible: ten times the tolerance that MIP solvers have by default."""
INTEGRALITY = 1e-6
"""An integer variable this far from a whole number takes its value: solvers of MIPs stop at such distances, and not beyond."""

# -- to CVXPY ---------------------------------------------------------------------------------------------------------------


def to_cvxpy(program: Program) -> Any:
    """A cvxpy Problem whose variables bear the names of the blocks: `problem.var_dict["w"]`.

    Bounds are constraints, one-sided rows come block by block, ranged rows as two constraints. Indicator rows are written
    in big-M form. CVXPY has no names for rows and no labels.
    """
    import cvxpy

    program, _ = road_to(NO_INDICATORS).apply(program)
    variables = [_variable(program, block) for block in program.variables]
    flat = [cvxpy.vec(v, order="C") if v.ndim != 1 else v for v in variables]
    constraints = []
    for block, variable in zip(program.variables, variables, strict=True):
        if not variable.attributes["boolean"]:
            lower, upper = program.lower[block.slice], program.upper[block.slice]
            constraints += _sides(variable, lower.reshape(block.shape), upper.reshape(block.shape))
        constraints += _partly_integer(program, block, variable)
    for block in program.rows:
        rows = program.A[block.start : block.stop]
        if block.size and rows.nnz:
            expression = _product(rows, program, flat)
            constraints += _sides(expression, program.row_lower[block.slice], program.row_upper[block.slice])
        elif block.size:
            _check_empty(program, block)
    objective = _product(sp.csr_array(program.c.reshape(1, -1)), program, flat)
    total = program.constant + (cvxpy.sum(objective) if objective is not None else 0.0)
    if program.Q is not None:
        if not program.is_convex:
            raise UnsupportedProgramError(
                f"program {program.name!r} cannot go to CVXPY: its quadratic objective is not convex, and CVXPY takes convex ones "
                f"only. Use Program.to_pyomo(), Program.write(), or mipclass.solve(program, 'scip')."
            )
        used = [k for k, b in enumerate(program.variables) if program.Q[:, b.start : b.stop].nnz]
        columns = np.concatenate([np.arange(program.variables[k].start, program.variables[k].stop) for k in used])
        Q = sp.csc_matrix(program.Q[columns][:, columns])
        # A single variable goes in as it is: CVXPY adds a copy of anything else.
        x = flat[used[0]] if len(used) == 1 else cvxpy.hstack([flat[k] for k in used])
        total += 0.5 * cvxpy.quad_form(x, cvxpy.psd_wrap(Q))
    return cvxpy.Problem(cvxpy.Minimize(total), constraints)


def _variable(program: Program, block: Block) -> Any:
    import cvxpy

    integer, lower, upper = program.integer[block.slice], program.lower[block.slice], program.upper[block.slice]
    kind: dict[str, bool] = {}
    if block.size and integer.all():
        kind = {"boolean": True} if ((lower == 0) & (upper == 1)).all() else {"integer": True}
    return cvxpy.Variable(block.shape, name=block.name, **kind)


def _partly_integer(program: Program, block: Block, variable: Any) -> list[Any]:
    """A block that is integer only here and there: those entries equal an integer variable of their own.

    CVXPY's attributes for some entries changed their meaning between versions.
    """
    import cvxpy

    integer = program.integer[block.slice].reshape(block.shape)
    if integer.all() or not integer.any():
        return []
    twin = cvxpy.Variable(int(integer.sum()), name=f"{block.name}_integer", integer=True)
    return [variable[integer] == twin]


def _product(rows: Any, program: Program, flat: list[Any]) -> Any:
    """rows @ x over the blocks that the rows touch; None when they touch none."""
    total = None
    for block, variable in zip(program.variables, flat, strict=True):
        part = sp.csr_matrix(rows[:, block.start : block.stop])
        if part.nnz:
            total = part @ variable if total is None else total + part @ variable
    return total


def _sides(expression: Any, lower: Array, upper: Array) -> list[Any]:
    """`==`, `>=` and `<=` constraints for the entries that have them."""
    lower, upper = np.asarray(lower), np.asarray(upper)
    equal = (lower == upper) & np.isfinite(lower)
    found = []
    for which, relation, side in (
        (equal, operator.eq, lower),
        (np.isfinite(lower) & ~equal, operator.ge, lower),
        (np.isfinite(upper) & ~equal, operator.le, upper),
    ):
        if which.all():
            found.append(relation(expression, side))
        elif which.any():
            found.append(relation(expression[which], side[which]))
    return found


def _check_empty(program: Program, block: Block) -> None:
    if (program.row_lower[block.slice] > 0).any() or (program.row_upper[block.slice] < 0).any():
        raise InvalidInputError(f"rows {block.name!r} of program {program.name!r} have no entries and cannot hold.")


# -- from CVXPY -------------------------------------------------------------------------------------------------------------


@contextmanager
def _without_advice() -> Iterator[None]:
    """CVXPY advises against reading a sparse variable as a dense one, which its own atoms do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def from_cvxpy(problem: Any) -> Program:
    """A cvxpy Problem as a Program: one block for each variable, `auxiliary` for what CVXPY adds.

    The problem must be a linear or quadratic program in CVXPY's sense (`is_qp`), with or without integer variables, finite sets
    and logic, and its parameters must have values. A problem that maximises is negated. Rows that bound a single variable become
    bounds. See cvxpy_reader.py.
    """
    return CvxpyProblem(problem).program()


@dataclass
class CvxpyProblem(AsStated):
    """A cvxpy Problem as a Problem of ours: solved as a Program, with the values put back into its variables."""

    problem: Any
    name: str = "cvxpy problem"
    _program: Program | None = field(default=None, init=False, repr=False)

    def program(self) -> Program:
        """The Program, read when it is first asked for."""
        if self._program is None:
            self._program = read(self.problem)
        return self._program

    def decode(self, x: Array) -> Values:
        """The values of the problem's own variables by name; the variables take them too."""
        program = self.program()
        nearest = np.round(x)
        # Atoms of logic are evaluated at whole numbers only.
        whole = program.integer & (np.abs(x - nearest) <= INTEGRALITY)
        values = program.split(np.where(whole, nearest, x))
        values.pop(AUXILIARY, None)
        self._load(values)
        return values

    def encode(self, values: Mapping[str, Any]) -> Array:
        """A start from values by name; auxiliary columns stay open."""
        return self.program().join(dict(values))

    def recount(self, values: Mapping[str, Any]) -> float:
        """The objective as CVXPY itself evaluates it at these values (negated when it maximises)."""
        self._load(values)
        with _without_advice():
            return sign(self.problem) * float(np.asarray(self.problem.objective.value).item())

    def violations(self, values: Mapping[str, Any]) -> dict[str, float]:
        """The constraints that CVXPY itself finds violated at these values by more than FEASIBLE."""
        self._load(values)
        allowed = FEASIBLE * max([1.0, *(float(np.max(np.abs(v))) for v in values.values() if np.size(v))])
        found: dict[str, float] = {}
        with _without_advice():
            for constraint in self.problem.constraints:
                residual: Any = constraint.residual if constraint.size else 0.0
                worst = float(np.max(residual.toarray() if sp.issparse(residual) else residual, initial=0.0))
                if worst > allowed:
                    found[str(constraint)] = worst
        return found

    def _load(self, values: Mapping[str, Any]) -> None:
        for name, variable in names(self.problem).items():
            if name in values:
                variable.save_value(np.asarray(values[name], dtype=np.float64).reshape(variable.shape))
