"""To CVXPY and back: a Program as a cvxpy Problem with named variables, and any cvxpy Problem that is a linear or quadratic
program (after CVXPY's own rewriting of abs, pos, max, norm1 ...) as a Program.

    p = problem.program().to_cvxpy()
    w = p.var_dict["w"]
    q = cvxpy.Problem(p.objective + cvxpy.Minimize(0.1 * cvxpy.norm1(w)), p.constraints)      # go on composing in CVXPY
    result = mipclass.solve(q)                                  # and come back; w.value is set as well
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
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


def from_cvxpy(problem: Any) -> Program:
    """A cvxpy Problem as a Program: one block for each variable, `auxiliary` for what CVXPY adds.

    The problem must be a linear or quadratic program in CVXPY's sense (`is_qp`), with or without integer variables, and its
    parameters must have values. A problem that maximises is negated. Rows that bound a single variable become bounds.
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
            self._program = _read(self.problem)
        return self._program

    def decode(self, x: Array) -> Values:
        """The values of the problem's own variables by name; the variables take them too."""
        values = self.program().split(x)
        values.pop(AUXILIARY, None)
        self._load(values)
        return values

    def encode(self, values: Mapping[str, Any]) -> Array:
        """A start from values by name; auxiliary columns stay open."""
        return self.program().join(dict(values))

    def recount(self, values: Mapping[str, Any]) -> float:
        """The objective as CVXPY itself evaluates it at these values (negated when it maximises)."""
        self._load(values)
        return _sign(self.problem) * float(np.asarray(self.problem.objective.value).item())

    def _load(self, values: Mapping[str, Any]) -> None:
        for name, variable in _names(self.problem).items():
            if name in values:
                variable.save_value(np.asarray(values[name], dtype=np.float64).reshape(variable.shape))


AUXILIARY = "auxiliary"
_UNSUPPORTED = ("symmetric", "diag", "PSD", "NSD", "hermitian", "complex", "imag", "sparsity")


def _sign(problem: Any) -> float:
    import cvxpy

    return -1.0 if isinstance(problem.objective, cvxpy.Maximize) else 1.0


def _names(problem: Any) -> dict[str, Any]:
    """Variables by name; a second variable of the same name gets a suffix."""
    found: dict[str, Any] = {}
    for variable in problem.variables():
        name, k = variable.name(), 1
        while name in found or name == AUXILIARY:
            k += 1
            name = f"{variable.name()}_{k}"
        found[name] = variable
    return found


def _read(problem: Any) -> Program:
    import cvxpy
    from cvxpy import settings as key

    _check(problem)
    named = _names(problem)
    plain = {name: cvxpy.Variable(v.shape, name=name) for name, v in named.items()}
    swapped = {id(v): _with_sign(v, plain[name]) for name, v in named.items()}
    expression = problem.objective.args[0].tree_copy(id_objects=swapped) * _sign(problem)
    constraints = [constraint.tree_copy(id_objects=swapped) for constraint in problem.constraints]
    data, _, inverse = cvxpy.Problem(cvxpy.Minimize(expression), constraints).get_problem_data(cvxpy.OSQP)
    columns = data[key.PARAM_PROB].var_id_to_col
    order, blocks = _order(plain, columns, len(data[key.Q]))
    lower, upper, integer = np.full(len(order), -np.inf), np.full(len(order), np.inf), np.zeros(len(order), dtype=bool)
    for block in blocks:
        if block.name in named:
            lower[block.slice], upper[block.slice], integer[block.slice] = _attributes(named[block.name])
    A = sp.csr_array(sp.vstack([data[key.A], data[key.F]], format="csr")[:, order])
    equal = np.arange(A.shape[0]) < data[key.A].shape[0]
    side = np.concatenate([np.ravel(data[key.B]), np.ravel(data[key.G])])
    kept, lower, upper = _bounds_from_rows(A, equal, side, lower, upper)
    P = sp.csc_array(data[key.P])[:, order][order, :]
    n_equal = int(equal[kept].sum())
    rows = (Block("equal", 0, (n_equal,)), Block("at_most", n_equal, (int(kept.sum()) - n_equal,)))
    return Program(
        c=np.asarray(data[key.Q])[order],
        A=sp.csr_array(A[kept]),
        row_lower=np.where(equal, side, -np.inf)[kept],
        row_upper=side[kept],
        lower=lower,
        upper=upper,
        integer=integer,
        Q=P,
        constant=float(inverse[-1][key.OFFSET]),
        variables=blocks,
        rows=tuple(block for block in rows if block.size),
        name="cvxpy problem",
    )


def _check(problem: Any) -> None:
    if not problem.variables():
        raise InvalidInputError("the cvxpy problem has no variables; there is nothing to solve.")
    for parameter in problem.parameters():
        if parameter.value is None:
            raise InvalidInputError(f"cvxpy parameter {parameter.name()!r} has no value; set it before solving.")
    for variable in problem.variables():
        for attribute in _UNSUPPORTED:
            if variable.attributes.get(attribute):
                raise UnsupportedProgramError(
                    f"cvxpy variable {variable.name()!r} is {attribute}, which a Program cannot hold; declare it without, "
                    f"or solve the problem with cvxpy itself."
                )
    if not problem.is_dcp():
        raise UnsupportedProgramError("the cvxpy problem is not convex in cvxpy's sense (problem.is_dcp() is False).")
    if not problem.is_qp():
        raise UnsupportedProgramError(
            "the cvxpy problem is not a linear or quadratic program (problem.is_qp() is False): it needs cones that a Program "
            "does not have. Solve it with cvxpy itself."
        )


def _with_sign(variable: Any, plain: Any) -> Any:
    """`plain` with what CVXPY knew of the variable's sign, which its rules of convexity may need."""
    from cvxpy.atoms.affine.wraps import nonneg_wrap, nonpos_wrap

    if variable.is_nonneg():
        return nonneg_wrap(plain)
    return nonpos_wrap(plain) if variable.is_nonpos() else plain


def _order(plain: dict[str, Any], columns: Mapping[int, int], n: int) -> tuple[Any, tuple[Block, ...]]:
    """CVXPY's columns in our order: the problem's variables in C order, then the auxiliary ones."""
    order: list[Any] = []
    blocks: list[Block] = []
    start = 0
    for name, variable in plain.items():
        first = columns[variable.id]  # CVXPY lays a matrix out column by column
        order.append(first + np.arange(variable.size).reshape(variable.shape, order="F").ravel())
        blocks.append(Block(name, start, variable.shape, (None,) * variable.ndim))
        start += variable.size
    own = np.concatenate(order) if order else np.zeros(0, dtype=np.int64)
    others = np.setdiff1d(np.arange(n), own)
    if len(others):
        blocks.append(Block(AUXILIARY, start, (len(others),), (None,)))
    return np.concatenate([own, others]).astype(np.int64), tuple(blocks)


def _attributes(variable: Any) -> tuple[Array, Array, Any]:
    """Bounds and integrality that the variable was declared with, entries in C order."""
    said = variable.attributes
    lower, upper = np.full(variable.shape, -np.inf), np.full(variable.shape, np.inf)
    if said.get("bounds") is not None:
        lower, upper = (
            np.broadcast_to(np.asarray(side, dtype=float), variable.shape).copy() for side in said["bounds"]
        )
    integer = np.zeros(variable.shape, dtype=bool)
    if said["nonneg"] or said["pos"]:
        lower = np.maximum(lower, 0.0)
    if said["nonpos"] or said["neg"]:
        upper = np.minimum(upper, 0.0)
    for kind in ("boolean", "integer"):
        if said[kind]:
            where = _entries(said[kind])
            integer[where] = True
            if kind == "boolean":
                lower[where], upper[where] = np.maximum(lower[where], 0.0), np.minimum(upper[where], 1.0)
    return lower.ravel(), upper.ravel(), integer.ravel()


def _entries(said: Any) -> Any:
    """All entries, or those named by index arrays or, in older versions, by a list of index tuples."""
    if said is True:
        return ...
    return tuple(said) if isinstance(said, tuple) else tuple(np.array(said, dtype=int).T)


def _bounds_from_rows(A: Any, equal: Any, side: Array, lower: Array, upper: Array) -> tuple[Any, Array, Array]:
    """Rows +x_j <= g, -x_j <= g and x_j = b are bounds: (rows to keep, lower, upper)."""
    single = np.flatnonzero(np.diff(A.indptr) == 1)
    entry = A.indptr[single]
    single = single[np.abs(A.data[entry]) == 1.0]
    j, sign = A.indices[A.indptr[single]], A.data[A.indptr[single]]
    value = sign * side[single]
    from_above, from_below = equal[single] | (sign > 0), equal[single] | (sign < 0)
    np.minimum.at(upper, j[from_above], value[from_above])
    np.maximum.at(lower, j[from_below], value[from_below])
    kept = np.ones(A.shape[0], dtype=bool)
    kept[single] = False
    return kept, lower, upper
