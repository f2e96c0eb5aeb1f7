"""A second look at a mixed-integer program that a solver calls infeasible: its word alone proves nothing.

Presolve has declared feasible programs infeasible in every solver at some time (for HiGHS see its issues 771, 1958 and 3296), and no
mixed-integer solver here hands out a proof. In turn:

1. The relaxation. Farkas multipliers that prove it infeasible, recomputed from the program, prove the program infeasible.
2. Cheap points: the integers at zero, at their upper bounds (every indicator row of a 0-1 model switched off), at the rounded
   relaxation, at the caller's start; the continuous columns follow from an LP. A feasible one refutes the solver.
3. A search of its own: HiGHS without presolve and without the objective. The solver itself without presolve where the program has
   indicator rows without a valid big M, or the caller's own rules take part.

A refuted solver runs once more without presolve, from the point found; if it insists, the answer is a numerical error with that
point. A second look that does not finish leaves the status, but nothing is claimed: `extra["unconfirmed"]` says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..errors import UnsupportedProgramError
from ..modelling.indicators import Indicators
from ..modelling.program import Program
from ..protocol.result import Status
from ..protocol.run import Run
from ..reductions.indicator_to_bigm import IndicatorToBigM
from .base import Backend, Solution
from .highs_direct import solve_directly
from .rays import proves_infeasible

FEASIBLE = 1e-6
"""Largest violation of a point that refutes an infeasibility: the tolerance that MIP solvers have by default."""
LEAST_SECONDS = 10.0
"""Least seconds for the search of step 3, where the caller's time limit leaves them."""
TIMES_THE_FIRST = 3.0
"""The search of step 3 gets at least this many times as long as the solve that it checks: without presolve it is often slower,
and a caller without a time limit should not wait for it without end."""


def second_look(
    backend: Backend, program: Program, run: Run, solution: Solution, start: Array | None = None
) -> Solution:
    """The solution as it stands, unless it calls a mixed-integer program infeasible; then what a second look makes of it."""
    if solution.status is not Status.INFEASIBLE or not program.is_integer:
        return solution
    hooks = run.options.get("hooks")
    if hooks is not None and (hooks.separate is not None or hooks.propagate is not None):
        return _by_itself(backend, program, run, solution)  # its rows are known to the caller's rules alone
    bare = program.replace_with(c=np.zeros(program.n_columns), Q=None, constant=0.0)
    patience = max(LEAST_SECONDS, TIMES_THE_FIRST * run.seconds())
    relaxed = _relaxation(bare)
    first = solve_directly(relaxed, run.inner(presolve="off"))
    if first.ray is not None and _is_proof(relaxed, first.ray):
        return replace(solution, raw_status=f"{solution.raw_status}; multipliers prove it of the relaxation")
    for integers in _cheap_integers(bare, first.x, start):
        point = _completed(bare, integers, run)
        if point is not None:
            return _refuted(backend, program, run, solution, point)
    if run.stop() is not None:
        return _unconfirmed(solution, run, "no time was left to confirm it")
    try:
        searched, _ = IndicatorToBigM().apply(bare)
    except UnsupportedProgramError:
        return _by_itself(backend, program, run, solution)
    second = solve_directly(searched, run.inner(time_limit=patience, presolve="off"))
    if second.status is Status.INFEASIBLE:
        return replace(solution, raw_status=f"{solution.raw_status}; confirmed by HiGHS without presolve")
    point = None if second.x is None else _completed(bare, second.x, run)
    if point is not None:
        return _refuted(backend, program, run, solution, point)
    return _unconfirmed(solution, run, f"HiGHS without presolve ends with {second.raw_status!r}")


def _relaxation(program: Program) -> Program:
    """The LP without integrality and without the rows that indicators may switch off."""
    kept = np.ones(program.n_rows, dtype=bool)
    kept[program.indicators.row] = False
    return Program(
        c=program.c,
        A=sp.csr_array(program.A[kept]),
        row_lower=program.row_lower[kept],
        row_upper=program.row_upper[kept],
        lower=program.lower,
        upper=program.upper,
        integer=np.zeros(program.n_columns, dtype=bool),
        name=f"relaxation of {program.name}",
    )


def _is_proof(program: Program, ray: Array) -> bool:
    return proves_infeasible(program, ray)


def _cheap_integers(program: Program, relaxed: Array | None, start: Array | None) -> Iterator[Array]:
    """Points whose integer columns are worth a try; the rest of each is of no account."""
    zero = np.clip(np.zeros(program.n_columns), program.lower, program.upper)
    yield zero
    yield np.where(np.isfinite(program.upper), program.upper, zero)
    if relaxed is not None:
        yield relaxed
    if start is not None:
        yield np.where(np.isfinite(start), start, zero)


def _completed(program: Program, x: Array, run: Run) -> Array | None:
    """A feasible point with the integers of x, rounded; None when the LP in the other columns finds none."""
    if run.stop() is not None:
        return None
    integer = program.integer
    whole = np.where(integer, np.clip(np.round(x), np.ceil(program.lower), np.floor(program.upper)), x)
    off = whole[program.indicators.column] != program.indicators.value
    switched = program.indicators.row[off]
    row_lower, row_upper = program.row_lower.copy(), program.row_upper.copy()
    row_lower[switched], row_upper[switched] = -np.inf, np.inf
    rest = program.replace_with(
        lower=np.where(integer, whole, program.lower),
        upper=np.where(integer, whole, program.upper),
        row_lower=row_lower,
        row_upper=row_upper,
        integer=np.zeros(program.n_columns, dtype=bool),
        indicators=Indicators.none(),
    )
    found = solve_directly(rest, run.inner()).x
    if found is None:
        return None
    point = np.where(integer, whole, found)
    return point if program.violation(point) <= FEASIBLE else None


def _refuted(backend: Backend, program: Program, run: Run, solution: Solution, point: Array) -> Solution:
    """The answer of a solver whose word a feasible point refutes: of another solve without presolve, or a numerical error."""
    words = f"{solution.raw_status}, refuted by a feasible point"
    if backend.without_presolve and run.stop() is None:
        again = _without_presolve(backend, program, run, point)
        if again.status is not Status.INFEASIBLE:
            return replace(again, raw_status=f"{words}; without presolve: {again.raw_status}")
    advice = "Use another solver, such as solver='highs' or 'scip', or tighten the bounds of the largest coefficients' variables."
    return Solution(
        run.stop() or Status.NUMERICAL_ERROR,
        f"{words}. {advice}",
        point,
        program.objective(point),
        extra={"advice": advice},
    )


def _by_itself(backend: Backend, program: Program, run: Run, solution: Solution) -> Solution:
    """Confirmation by the solver itself without presolve."""
    if not backend.without_presolve:
        return _unconfirmed(solution, run, f"mipclass does not know how to switch the presolve of {backend.name!r} off")
    again = _without_presolve(backend, program, run, None)
    if again.status is Status.INFEASIBLE or again.x is not None:
        return replace(again, raw_status=f"{solution.raw_status}; without presolve: {again.raw_status}")
    return _unconfirmed(solution, run, f"without presolve it ends with {again.raw_status!r}")


def _without_presolve(backend: Backend, program: Program, run: Run, start: Array | None) -> Solution:
    given = run.options
    run.options = _overlaid(backend.without_presolve, given)
    try:
        return backend.solve(program, run, start)
    finally:
        run.options = given


def _overlaid(off: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The caller's options with presolve off; a dictionary of the solver's own options keeps the caller's entries."""
    merged = dict(given)
    for name, value in off.items():
        merged[name] = {**given.get(name, {}), **value} if isinstance(value, dict) else value
    return merged


def _unconfirmed(solution: Solution, run: Run, why: str) -> Solution:
    return replace(
        solution,
        status=run.stop() or solution.status,
        raw_status=f"{solution.raw_status}, not confirmed: {why}",
        bound=None,
        extra={**solution.extra, "unconfirmed": why},
    )
