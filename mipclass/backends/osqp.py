"""OSQP: convex QPs by operator splitting, believed only when accurate.

OSQP's word "solved" at its default tolerance has been seen 0.15 off in the objective, and its words "infeasible" and "unbounded"
have been seen of programs that are neither. Here its point is measured by the residuals of the program and, where it is
rough, polished (polish.py; OSQP's own polish gives up where the active set is not yet right, and prints); its certificates are
checked as rays. An answer that stays rough is reported as such (`raw_status` and `extra["advice"]` say what to do).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..modelling.program import Feature, Program
from ..protocol.options import Option, Options, number
from ..protocol.result import Status
from ..protocol.run import Run
from .base import Backend, Solution
from .highs_direct import solve_directly
from .kkt import ACCURACY, residuals
from .polish import Polished, polish
from .rays import find_descent, find_infeasibility, find_point, proves_infeasible, proves_unbounded

STATUS = {
    "OSQP_SOLVED": Status.OPTIMAL,
    "OSQP_SOLVED_INACCURATE": Status.NUMERICAL_ERROR,
    "OSQP_PRIMAL_INFEASIBLE": Status.INFEASIBLE,
    "OSQP_PRIMAL_INFEASIBLE_INACCURATE": Status.NUMERICAL_ERROR,
    "OSQP_DUAL_INFEASIBLE": Status.UNBOUNDED,
    "OSQP_DUAL_INFEASIBLE_INACCURATE": Status.NUMERICAL_ERROR,
    "OSQP_MAX_ITER_REACHED": Status.ITERATION_LIMIT,
    "OSQP_TIME_LIMIT_REACHED": Status.TIME_LIMIT,
    "OSQP_NON_CVX": Status.NUMERICAL_ERROR,
    "OSQP_SIGINT": Status.INTERRUPTED,
    "OSQP_UNSOLVED": Status.NUMERICAL_ERROR,
}
TOLERANCES = (ACCURACY, 1e-9)
"""What OSQP is asked for, first and, where the answer is rough even when polished, again."""
CERTAIN = 1e-6
"""How exact OSQP's certificates of infeasibility and unboundedness must be in its own scaling; its default of 1e-4 is too rough."""
CHUNK = 2000
"""Iterations between two looks at the clock and the callback."""
FIRST_ITERATIONS = 3 * CHUNK
"""Iterations after which a polish is tried for the first time: more of them seldom change which sides are active."""
ITERATIONS = 200_000
"""Most iterations unless the user gives another limit."""


class OsqpBackend(Backend):
    """Convex QPs without integers."""

    name: ClassVar[str] = "osqp"
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.QP})
    module: ClassVar[str] = "osqp"
    distribution: ClassVar[str] = "osqp"
    promise: ClassVar[str] = "proven to 1e-6: polished, residuals recomputed; a rough answer is never called solved"
    options: ClassVar[Options] = {
        "iteration_limit": Option(ITERATIONS, "most ADMM iterations", number(1, integer=True)),
        "osqp": Option({}, "settings passed to OSQP as they are, by OSQP's own names"),
    }

    def hears(self, program: Program) -> bool:
        """No: a factorisation is one step."""
        return False

    def solve(self, program: Program, run: Run, start: Array | None = None) -> Solution:
        """See `Backend.solve`; columns that the start leaves open begin at 0."""
        rows = _Constraints(program)
        limit = run.options.get("iteration_limit", ITERATIONS)
        may_polish = run.options.get("osqp", {}).get("polishing", True)
        iterations = 0
        x, y = None if start is None else np.nan_to_num(start), None
        for tolerance, most in zip(TOLERANCES, (min(limit, FIRST_ITERATIONS), limit), strict=True):
            solver = _set_up(program, rows, tolerance, run)
            if x is not None:
                solver.warm_start(x=x, y=y)
            answer, status, iterations = _iterate(solver, run, iterations, most)
            words = answer.info.status
            if status in (Status.INFEASIBLE, Status.UNBOUNDED):
                proof = _proof(program, run, rows, answer, status, iterations)
                if proof is not None:
                    return proof
                status, words = Status.NUMERICAL_ERROR, f"{words}, which no ray proves"
            elif answer.x is not None and np.isfinite(answer.x).all() and np.isfinite(answer.y).all():
                x, y = answer.x, answer.y
            row_duals, column_duals = (
                (np.zeros(program.n_rows), np.zeros(program.n_columns)) if y is None else rows.split(-y)
            )
            point = np.clip(np.zeros(program.n_columns) if x is None else x, program.lower, program.upper)
            pair = Polished(point, row_duals, column_duals, residuals(program, point, row_duals, column_duals))
            if pair.residuals.worst > ACCURACY and may_polish and iterations < limit:
                pair, words = _polished(program, pair, words, run)
            if pair.residuals.worst <= ACCURACY:
                return _solved(program, pair, words, run, iterations)
            x = pair.x
            if iterations >= limit or run.stop() is not None:
                break
        return _rough(program, pair, run.stop() or status, words, iterations)


def _proof(
    program: Program, run: Run, rows: _Constraints, answer: Any, status: Status, iterations: int
) -> Solution | None:
    """OSQP's word that the program is infeasible or unbounded, with a ray that proves one of the two; None without."""
    words = answer.info.status
    ray = None
    if status is Status.INFEASIBLE:
        ray = -rows.split(np.nan_to_num(answer.prim_inf_cert))[0]
        if not proves_infeasible(program, ray):
            ray = find_infeasibility(program, run, solve_directly)
    elif find_point(program, run, solve_directly) is None:  # OSQP says "unbounded" of infeasible programs too
        ray = find_infeasibility(program, run, solve_directly)
    else:
        direction = np.nan_to_num(answer.dual_inf_cert)
        found = direction if proves_unbounded(program, direction) else find_descent(program, run, solve_directly)
        if found is None:
            return None
        return Solution(Status.UNBOUNDED, words, iterations=iterations, extra={"direction": found})
    if ray is None:
        return None
    return Solution(Status.INFEASIBLE, words, bound=float("inf"), iterations=iterations, ray=ray)


def _polished(program: Program, rough: Polished, words: str, run: Run) -> tuple[Polished, str]:
    """The pair, polished where that brings it nearer to an optimum."""
    better = polish(program, rough.x, run)
    if better is None or better.residuals.worst >= rough.residuals.worst:
        return rough, words
    return better, f"{words}, polished"


def _solved(program: Program, pair: Polished, words: str, run: Run, iterations: int) -> Solution:
    objective = program.objective(pair.x)
    run.report(objective=objective, bound=pair.residuals.bound, iterations=iterations)
    return Solution(
        status=Status.OPTIMAL,
        raw_status=f"{words} ({pair.residuals})",
        x=pair.x,
        objective=objective,
        bound=pair.residuals.bound,
        iterations=iterations,
        row_duals=pair.row_duals,
        column_duals=pair.column_duals,
    )


def _rough(program: Program, pair: Polished, status: Status, words: str, iterations: int) -> Solution:
    """The last iterate: returned as a point only if it is at least feasible, and never as solved."""
    feasible = pair.residuals.primal <= ACCURACY
    status = Status.NUMERICAL_ERROR if status is Status.OPTIMAL else status
    advice = (
        f"This answer did not reach {ACCURACY:g}: scale the data (a StandardScaler), raise options={{'iteration_limit': ...}}, "
        f"or use an interior-point solver: solver='piqp', 'highs' or 'cvxpy:CLARABEL'."
    )
    return Solution(
        status=status,
        raw_status=f"{words}, rough ({pair.residuals}). {advice}",
        x=pair.x if feasible else None,
        objective=program.objective(pair.x) if feasible else None,
        iterations=iterations,
        extra={"advice": advice, "rough_point": pair.x, "residuals": pair.residuals},
    )


class _Constraints:
    """OSQP's one kind of constraint l <= Ax <= u: the rows, then the columns that have a bound."""

    def __init__(self, program: Program) -> None:
        self._m, self._n = program.n_rows, program.n_columns
        self.bounded = np.flatnonzero(np.isfinite(program.lower) | np.isfinite(program.upper))
        identity = sp.eye_array(self._n, format="csr")[self.bounded]
        self.A = sp.csc_matrix(sp.vstack([program.A, identity], format="csc"))
        self.lower = np.concatenate([program.row_lower, program.lower[self.bounded]])
        self.upper = np.concatenate([program.row_upper, program.upper[self.bounded]])

    def split(self, duals: Array) -> tuple[Array, Array]:
        column_duals = np.zeros(self._n)
        column_duals[self.bounded] = duals[self._m :]
        return duals[: self._m], column_duals


def _set_up(program: Program, rows: _Constraints, tolerance: float, run: Run) -> Any:
    import osqp

    solver = osqp.OSQP()
    settings: dict[str, Any] = {
        "verbose": False,
        "eps_abs": tolerance,
        "eps_rel": tolerance,
        "eps_prim_inf": CERTAIN,
        "eps_dual_inf": CERTAIN,
        "max_iter": CHUNK,
    }
    settings |= run.options.get("osqp", {})
    settings["polishing"] = False  # ours is used instead, unless the caller says "polishing": False
    P = sp.csc_matrix(sp.triu(program.Q if program.Q is not None else sp.csc_array(program.A.shape[1:] * 2)))
    solver.setup(P, np.array(program.c), rows.A, rows.lower, rows.upper, **settings)
    return solver


def _iterate(solver: Any, run: Run, iterations: int, limit: int) -> tuple[Any, Status, int]:
    """Run in chunks, each from where the last stopped, so that limits and callbacks are looked at in between."""
    while True:
        settings: dict[str, Any] = {"max_iter": max(1, min(CHUNK, limit - iterations))}
        if run.time_limit is not None:
            settings["time_limit"] = max(1e-3, run.seconds_left())
        solver.update_settings(**settings)
        answer = solver.solve(raise_error=False)
        iterations += answer.info.iter
        status = STATUS[_status_name(answer.info.status_val)]
        if status is Status.INTERRUPTED:
            run.interrupt()
        if status is not Status.ITERATION_LIMIT or iterations >= limit:
            return answer, status, iterations
        run.report(iterations=iterations, primal_residual=answer.info.prim_res, dual_residual=answer.info.dual_res)
        stopped = run.stop()
        if stopped is not None:
            return answer, stopped, iterations


def _status_name(value: int) -> str:
    import osqp

    return str(osqp.SolverStatus(value).name)
