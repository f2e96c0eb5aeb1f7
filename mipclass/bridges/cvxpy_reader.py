"""A cvxpy Problem read as a Program: CVXPY rewrites it as a quadratic program with integers, of which the arrays are taken.

Each variable goes in as a plain one, with its integrality and nothing else. Its other attributes (signs, bounds, symmetric, diag,
sparsity) become bounds and rows of the Program, so that the blocks of the Program are the problem's own variables. Which entries
a partly integer variable means is left to CVXPY, whose reading of index lists differs between versions.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, Index, Mask
from ..errors import InvalidInputError, MipclassError, UnsupportedProgramError
from ..modelling.blocks import Block
from ..modelling.program import Program
from .cvxpy_refusals import beyond_qp, check

AUXILIARY = "auxiliary"
"""The block of the columns that CVXPY adds."""


def sign(problem: Any) -> float:
    """-1 for a problem that maximises: its Program minimises the negated objective."""
    import cvxpy

    return -1.0 if isinstance(problem.objective, cvxpy.Maximize) else 1.0


def names(problem: Any) -> dict[str, Any]:
    """Variables by name; a second variable of the same name gets a suffix."""
    found: dict[str, Any] = {}
    for variable in problem.variables():
        name, k = variable.name(), 1
        while name in found or name == AUXILIARY:
            k += 1
            name = f"{variable.name()}_{k}"
        found[name] = variable
    return found


def read(problem: Any) -> Program:
    """The Program of a cvxpy Problem; UnsupportedProgramError when it needs more than rows, bounds, integers and a square."""
    try:
        check(problem)
        named = names(problem)
        plain = {name: _plain(variable, name) for name, variable in named.items()}
        used = _used(problem)
        speaks = any(id(variable) in used for variable in named.values())
        arrays = _rewritten(problem, named, plain) if speaks else _without_columns(problem, named)
        return _assembled(named, arrays, _columns(named, plain, arrays, used))
    except MipclassError:
        raise
    except Exception as err:
        # CVXPY's own errors are of many types; whatever stops its rewriting stops the way to a Program.
        raise UnsupportedProgramError(
            f"cvxpy could not rewrite the problem as a linear, quadratic or mixed-integer program: {type(err).__name__}: {err}"
        ) from err


# -- CVXPY's rewriting ------------------------------------------------------------------------------------------------------


@cache
def _interface() -> Any:
    """A solver in CVXPY's eyes that takes quadratic objectives, rows and integers, all together; it is never called."""
    from cvxpy.reductions.solvers.qp_solvers.osqp_qpif import OSQP

    class MixedIntegerQuadratic(OSQP):  # type: ignore[misc]  # CVXPY has no types here
        """CVXPY's interface for quadratic programs, declared able to take integers."""

        MIP_CAPABLE = True

        def name(self) -> str:
            """A name that no solver of CVXPY bears."""
            return "MIPCLASS"

    return MixedIntegerQuadratic()


def _plain(variable: Any, name: str) -> Any:
    import cvxpy

    kinds = {kind: variable.attributes[kind] for kind in ("boolean", "integer")}
    return cvxpy.Variable(variable.shape, name=name, **kinds)


def _with_sign(variable: Any, plain: Any) -> Any:
    """`plain` with what CVXPY knew of the variable's sign, which its rules of convexity may need.

    A boolean one keeps its own, and atoms of logic take nothing else.
    """
    from cvxpy.atoms.affine.wraps import nonneg_wrap, nonpos_wrap

    if variable.attributes["boolean"]:
        return plain
    if variable.is_nonneg():
        return nonneg_wrap(plain)
    return nonpos_wrap(plain) if variable.is_nonpos() else plain


class _Arrays(NamedTuple):
    """minimise 1/2 x'Px + q'x + constant subject to Ax = b, Fx <= g, in CVXPY's columns; `first` maps a variable's id to its first
    column, and `boolean` and `integer` list columns."""

    first: Mapping[int, int]
    P: Any
    q: Array
    constant: float
    A: Any
    b: Array
    F: Any
    g: Array
    boolean: Iterable[int]
    integer: Iterable[int]


def _rewritten(problem: Any, named: dict[str, Any], plain: dict[str, Any]) -> _Arrays:
    """CVXPY's arrays for the problem over the plain variables."""
    import cvxpy
    from cvxpy import settings as key

    swapped = {id(variable): _with_sign(variable, plain[name]) for name, variable in named.items()}
    objective = problem.objective.args[0].tree_copy(id_objects=swapped) * sign(problem)
    constraints = [constraint.tree_copy(id_objects=swapped) for constraint in problem.constraints]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on how fast a second solve with other parameters would be
            data, _, inverse = cvxpy.Problem(cvxpy.Minimize(objective), constraints).get_problem_data(
                _interface(), ignore_dpp=True
            )
    except cvxpy.error.SolverError as err:
        raise UnsupportedProgramError(beyond_qp(problem)) from err
    return _Arrays(
        first=data[key.PARAM_PROB].var_id_to_col,
        P=sp.csc_array(data[key.P]),
        q=np.ravel(data[key.Q]),
        constant=float(inverse[-1][key.OFFSET]),
        A=sp.csr_array(data[key.A]),
        b=np.ravel(data[key.B]),
        F=sp.csr_array(data[key.F]),
        g=np.ravel(data[key.G]),
        boolean=data[key.BOOL_IDX],
        integer=data[key.INT_IDX],
    )


def _without_columns(problem: Any, named: dict[str, Any]) -> _Arrays:
    """The arrays of a problem that speaks of no entry of any variable: a constant, and a row 0 = 1 if a constraint fails."""
    for variable in named.values():
        variable.save_value(np.zeros(variable.shape))
    fails = any(not np.all(constraint.value()) for constraint in problem.constraints if constraint.size)
    constant = sign(problem) * float(np.asarray(problem.objective.args[0].value).item())
    none, empty = sp.csr_array((0, 0)), np.zeros(0)
    return _Arrays({}, none, empty, constant, sp.csr_array((int(fails), 0)), np.ones(int(fails)), none, empty, (), ())


# -- CVXPY's arrays as a Program --------------------------------------------------------------------------------------------


class _Columns(NamedTuple):
    """The Program's columns: CVXPY's column behind each (-1 for a variable that CVXPY left out), and the blocks."""

    origin: Index
    blocks: tuple[Block, ...]


def _assembled(named: dict[str, Any], arrays: _Arrays, columns: _Columns) -> Program:
    n = len(columns.origin)
    kept = columns.origin >= 0
    take = sp.csr_array(  # from CVXPY's columns to the Program's
        (np.ones(int(kept.sum())), (columns.origin[kept], np.flatnonzero(kept))), shape=(len(arrays.q), n)
    )
    lower, upper, integer = _kinds(named, columns, arrays)
    tied = [_ties(named[block.name], block, n) for block in columns.blocks if block.name in named]
    A = sp.csr_array(sp.vstack([*tied, arrays.A @ take, arrays.F @ take], format="csr"))
    n_tied = sum(part.shape[0] for part in tied)
    equal = np.arange(A.shape[0]) < n_tied + arrays.A.shape[0]
    side = np.concatenate([np.zeros(n_tied), arrays.b, arrays.g])
    stays, lower, upper = _bounds_from_rows(A, equal, side, lower, upper)
    n_equal = int(equal[stays].sum())
    rows = (Block("equal", 0, (n_equal,)), Block("at_most", n_equal, (int(stays.sum()) - n_equal,)))
    return Program(
        c=take.T @ arrays.q,
        A=sp.csr_array(A[stays]),
        row_lower=np.where(equal, side, -np.inf)[stays],
        row_upper=side[stays],
        lower=lower,
        upper=upper,
        integer=integer,
        Q=sp.csc_array(take.T @ arrays.P @ take),
        constant=arrays.constant,
        variables=columns.blocks,
        rows=tuple(block for block in rows if block.size),
        name="cvxpy problem",
    )


def _columns(named: dict[str, Any], plain: dict[str, Any], arrays: _Arrays, used: set[int]) -> _Columns:
    """The problem's variables in C order, then CVXPY's auxiliary columns."""
    origin: list[Index] = []
    blocks: list[Block] = []
    start = 0
    for name, variable in plain.items():
        if variable.id in arrays.first:  # CVXPY lays a matrix out column by column
            at = arrays.first[variable.id] + np.arange(variable.size).reshape(variable.shape, order="F").ravel()
        elif variable.size and id(named[name]) in used:
            raise UnsupportedProgramError(
                f"cvxpy replaced the variable {name!r} by others; solve the problem with cvxpy itself."
            )
        else:
            at = np.full(variable.size, -1)
        origin.append(at.astype(np.int64))
        blocks.append(Block(name, start, variable.shape, (None,) * variable.ndim))
        start += variable.size
    own = np.concatenate(origin)
    others = np.setdiff1d(np.arange(len(arrays.q)), own)
    if len(others):
        blocks.append(Block(AUXILIARY, start, (len(others),), (None,)))
    return _Columns(np.concatenate([own, others]).astype(np.int64), tuple(blocks))


def _used(problem: Any) -> set[int]:
    """Identities of the variables that occur outside of expressions without entries."""
    found: set[int] = set()
    todo: list[Any] = [problem.objective.args[0], *(arg for c in problem.constraints if c.size for arg in c.args)]
    while todo:
        expression = todo.pop()
        if expression.size:
            found.add(id(expression))
            todo += expression.args
    return found


def _kinds(named: dict[str, Any], columns: _Columns, arrays: _Arrays) -> tuple[Array, Array, Mask]:
    """Bounds and integrality: CVXPY's integrality of each column, and what the variables were declared with besides."""
    n, present = len(columns.origin), columns.origin >= 0
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    boolean, integer = (_marked(places, columns.origin) for places in (arrays.boolean, arrays.integer))
    for block in columns.blocks:
        variable = named.get(block.name)
        if variable is None:
            continue
        lower[block.slice], upper[block.slice] = _declared_bounds(variable)
        if not present[block.slice].all():  # no row and no cost speaks of it
            boolean[block.slice] |= variable.attributes["boolean"] is True
            integer[block.slice] |= variable.attributes["integer"] is True
    lower[boolean], upper[boolean] = np.maximum(lower[boolean], 0.0), np.minimum(upper[boolean], 1.0)
    return lower, upper, boolean | integer


def _marked(places: Iterable[Any], origin: Index) -> Mask:
    return np.isin(origin, np.array([int(place) for place in places], dtype=np.int64))


def _declared_bounds(variable: Any) -> tuple[Array, Array]:
    """Bounds from signs, bounds, diag and sparsity, entries in C order."""
    said = variable.attributes
    lower, upper = np.full(variable.shape, -np.inf), np.full(variable.shape, np.inf)
    if said.get("bounds") is not None:
        lower, upper = (_numbers(side, variable) for side in said["bounds"])
    if said["nonneg"] or said["pos"]:
        np.maximum(lower, 0.0, out=lower)
    if said["nonpos"] or said["neg"]:
        np.minimum(upper, 0.0, out=upper)
    zero = _structural_zeros(variable)
    if ((lower[zero] > 0) | (upper[zero] < 0)).any() and not sp.issparse(said["bounds"][0]):
        raise UnsupportedProgramError(
            f"cvxpy variable {variable.name()!r} has bounds that exclude the zeros of its diag or sparsity; whether they speak of "
            f"these entries depends on cvxpy's solver. Write the bounds as constraints."
        )
    lower[zero] = upper[zero] = 0.0
    return lower.ravel(), upper.ravel()


def _numbers(side: Any, variable: Any) -> Array:
    """One side of the declared bounds as an array of the variable's shape; a parametric one at its parameters' values."""
    value = side.value if hasattr(side, "value") else side
    if value is None:
        raise InvalidInputError(
            f"a bound of cvxpy variable {variable.name()!r} has no value; set its parameters first."
        )
    dense = value.toarray() if sp.issparse(value) else np.asarray(value, dtype=float)
    return np.array(np.broadcast_to(dense, variable.shape), dtype=float)


def _structural_zeros(variable: Any) -> Mask:
    """Entries that diag or sparsity declares to be zero."""
    zero = np.zeros(variable.shape, dtype=bool)
    if variable.attributes.get("diag"):
        zero |= ~np.eye(variable.shape[-1], dtype=bool)
    if variable.attributes.get("sparsity"):
        zero[...] = True
        zero[variable.sparse_idx] = False
    return zero


def _ties(variable: Any, block: Block, n: int) -> sp.csr_array:
    """Rows x_ij - x_ji = 0, i < j, of a symmetric variable (the last two axes); none of another one."""
    if not variable.attributes.get("symmetric"):
        return sp.csr_array((0, n))
    at = block.start + np.arange(block.size).reshape(block.shape)
    above = np.triu_indices(block.shape[-1], 1)
    first, second = at[..., above[0], above[1]].ravel(), np.swapaxes(at, -1, -2)[..., above[0], above[1]].ravel()
    k = np.arange(len(first))
    ones = np.ones(len(first))
    return sp.csr_array(
        (np.concatenate([ones, -ones]), (np.concatenate([k, k]), np.concatenate([first, second]))), shape=(len(k), n)
    )


def _bounds_from_rows(A: Any, equal: Mask, side: Array, lower: Array, upper: Array) -> tuple[Mask, Array, Array]:
    """Rows +x_j <= g, -x_j <= g and x_j = b are bounds: (rows to keep, lower, upper)."""
    single = np.flatnonzero(np.diff(A.indptr) == 1)
    entry = A.indptr[single]
    single = single[np.abs(A.data[entry]) == 1.0]
    j, direction = A.indices[A.indptr[single]], A.data[A.indptr[single]]
    value = direction * side[single]
    from_above, from_below = equal[single] | (direction > 0), equal[single] | (direction < 0)
    np.minimum.at(upper, j[from_above], value[from_above])
    np.maximum.at(lower, j[from_below], value[from_below])
    kept = np.ones(A.shape[0], dtype=bool)
    kept[single] = False
    return kept, lower, upper
