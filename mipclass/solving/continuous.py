"""What a solver says of a continuous program, as far as the driver can prove it from the program's own data.

One accuracy for all (kkt.ACCURACY). An optimum of a convex program needs multipliers whose residuals reach it, and its bound is
the one that they prove; where they are missing or rough, the point is polished first. An optimum of a program that is not convex
needs a point and a bound of a global search that agree. "Infeasible" and "unbounded" need a ray: the solver's own, or one that an
LP finds. What cannot be proven is a numerical error with advice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..backends.base import Backend, Solution, without_columns
from ..backends.highs_direct import solve_directly
from ..backends.kkt import ACCURACY, Residuals, reduced_costs, residuals
from ..backends.polish import polish
from ..backends.rays import (
    find_descent,
    find_infeasibility,
    find_point,
    has_crossed_sides,
    proves_infeasible,
    proves_unbounded,
    recession,
)
from ..modelling.program import Program
from ..protocol.result import Status
from ..protocol.run import Run

ADVICE = (
    "Scale the data (a StandardScaler), tighten the solver's own tolerances by options={...}, or use another solver; "
    "see mipclass.solvers(problem)."
)


def answered(program: Program, backend: Backend, run: Run, start: Array | None = None) -> Solution:
    """The backend's solution of the program with the claims that evidence supports; neither crossed sides nor
    a program without columns need a solver."""
    if program.n_columns == 0:
        return without_columns(program)
    if not program.is_integer and has_crossed_sides(program):
        words = "the lower side of a row or column lies above its upper side"
        return Solution(Status.INFEASIBLE, words, bound=float("inf"), ray=np.zeros(program.n_rows))
    return _supported(program, backend.solve(program, run, start), backend, run)


def _supported(program: Program, solution: Solution, backend: Backend, run: Run) -> Solution:
    """The solution with the claims that evidence supports; limits and points without a claim pass as they are."""
    if program.is_integer:
        return solution
    if solution.status is Status.INFEASIBLE:
        return _infeasible(program, solution, run)
    if solution.status is Status.UNBOUNDED:
        return _unbounded(program, solution, backend, run)
    if solution.status is Status.OPTIMAL and solution.x is not None:
        return _optimum(program, solution, solution.x, run)
    rough = solution.extra.get("rough_point")
    if solution.status is Status.NUMERICAL_ERROR and rough is not None and program.is_convex:
        return _polished(program, solution, rough, run) or solution
    return solution


def _optimum(program: Program, solution: Solution, x: Array, run: Run) -> Solution:
    if not program.is_convex:
        return _global_optimum(program, solution, x)
    got = None
    if np.isfinite(x).all() and solution.row_duals is not None and np.isfinite(solution.row_duals).all():
        column_duals = reduced_costs(program, x, solution.row_duals)
        got = residuals(program, x, solution.row_duals, column_duals)
        if got.worst <= ACCURACY:
            objective = program.objective(x)
            return replace(solution, objective=objective, bound=got.bound, column_duals=column_duals)
    return _polished(program, solution, x, run) or _rough(solution, x, got)


def _polished(program: Program, solution: Solution, x: Array, run: Run) -> Solution | None:
    """The solver's point after a polish that proves it to be optimal; None when the polish does not get there."""
    better = polish(program, x, run)
    if better is None or better.residuals.worst > ACCURACY:
        return None
    words = solution.raw_status.partition(", rough (")[0]
    extra = {k: v for k, v in solution.extra.items() if k not in ("advice", "rough_point", "residuals")}
    return replace(
        solution,
        status=Status.OPTIMAL,
        raw_status=f"{words}, polished ({better.residuals})",
        x=better.x,
        objective=program.objective(better.x),
        bound=better.residuals.bound,
        row_duals=better.row_duals,
        column_duals=better.column_duals,
        extra=extra,
    )


def _rough(solution: Solution, x: Array, got: Residuals | None) -> Solution:
    measured = "no multipliers" if got is None else str(got)
    extra: dict[str, Any] = {**solution.extra, "advice": ADVICE, "rough_point": x, "residuals": got}
    return Solution(
        Status.NUMERICAL_ERROR,
        f"{solution.raw_status}, rough ({measured}). {ADVICE}",
        nodes=solution.nodes,
        iterations=solution.iterations,
        extra=extra,
    )


def _global_optimum(program: Program, solution: Solution, x: Array) -> Solution:
    """A global search's point and bound, which must agree: multipliers prove nothing where the objective is not convex."""
    objective = program.objective(x)
    violation = residuals(program, x, np.zeros(program.n_rows), np.zeros(program.n_columns)).primal
    bound = solution.bound
    gap = np.inf if bound is None else abs(objective - bound) / max(1.0, abs(objective))
    if violation <= 2.0 * ACCURACY and gap <= ACCURACY:
        return replace(solution, objective=objective)
    words = f"{solution.raw_status}, rough (violation {violation:.1e}, gap {gap:.1e}). {ADVICE}"
    return replace(
        solution, status=Status.NUMERICAL_ERROR, raw_status=words, extra={**solution.extra, "advice": ADVICE}
    )


def _infeasible(program: Program, solution: Solution, run: Run) -> Solution:
    ray = solution.ray
    if ray is None or not proves_infeasible(program, ray):
        ray = find_infeasibility(program, run, solve_directly)
    if ray is not None:
        return replace(solution, ray=ray, bound=float("inf"))
    return _unproven(solution, "infeasible", run)


def _unbounded(program: Program, solution: Solution, backend: Backend, run: Run) -> Solution:
    if find_point(program, run, solve_directly) is None:
        ray = find_infeasibility(program, run, solve_directly)
        if ray is None:
            return _unproven(solution, "unbounded", run)
        words = f"{solution.raw_status}; a ray proves that it is infeasible"
        return replace(solution, status=Status.INFEASIBLE, raw_status=words, ray=ray, bound=float("inf"))
    direction = solution.extra.get("direction")
    if direction is None or not proves_unbounded(program, direction):
        direction = find_descent(program, run, solve_directly)
    if direction is None and not program.is_convex:
        found = backend.solve(recession(program, curved=True), run.inner()).x
        direction = found if found is not None and proves_unbounded(program, found) else None
    if direction is None:
        return _unproven(solution, "unbounded", run)
    return replace(solution, extra={**solution.extra, "direction": direction})


def _unproven(solution: Solution, word: str, run: Run) -> Solution:
    """The solver's word without a ray that proves it: no claim."""
    return Solution(
        run.stop() or Status.NUMERICAL_ERROR,
        f"{solution.raw_status}; no ray proves that the program is {word}. {ADVICE}",
        nodes=solution.nodes,
        iterations=solution.iterations,
        extra={**solution.extra, "advice": ADVICE},
    )
