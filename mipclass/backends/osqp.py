"""OSQP: convex QPs by operator splitting, believed only when accurate.

OSQP's word "solved" at its default tolerance has been seen 0.15 off in the objective. Here it is asked for 1e-6 and a
polished point, and the residuals are recomputed from the program. An answer that stays rough is reported as such
(`raw_status` and `extra["advice"]` say what to do); it is never returned as solved.
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
from .base import Backend, Solution, infeasible_or_unbounded
from .kkt import Residuals, residuals

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
ACCURACY = 1e-6
"""What an answer must reach, measured by kkt.residuals."""
UNPOLISHED_ACCURACY = 1e-8
"""What an answer must reach whose polish failed."""
TOLERANCES = (ACCURACY, 1e-9)
"""What OSQP is asked for, first and, where the answer is not believed, again."""
CHUNK = 2000
"""Iterations between two looks at the clock and the callback."""
ITERATIONS = 200_000
"""Most iterations unless the user gives another limit."""
_POLISHED = 1  # OSQPInfo.status_polish of a successful polish


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

    def solve(self, program: Program, run: Run, start: Array | None = None) -> Solution:
        """See `Backend.solve`; columns that the start leaves open begin at 0."""
        rows = _Constraints(program)
        limit = run.options.get("iteration_limit", ITERATIONS)
        iterations = 0
        answer: Any = None
        # A polish can fail for want of accuracy or for want of anything to improve; a tighter run settles which.
        for tolerance in TOLERANCES:
            solver = _set_up(program, rows, tolerance, run)
            if answer is not None:
                solver.warm_start(x=answer.x, y=answer.y)
            elif start is not None:
                solver.warm_start(x=np.nan_to_num(start))
            answer, status, iterations = _iterate(solver, run, iterations, limit)
            if status is not Status.OPTIMAL:
                return self._unsolved(program, run, rows, answer, status, iterations)
            row_duals, column_duals = rows.split(-answer.y)
            got = residuals(program, answer.x, row_duals, column_duals)
            polished = answer.info.status_polish == _POLISHED
            if got.worst <= (ACCURACY if polished else UNPOLISHED_ACCURACY):
                objective = program.objective(answer.x)
                run.report(objective=objective, bound=objective, iterations=iterations)
                return Solution(
                    status=Status.OPTIMAL,
                    raw_status=f"solved{', polished' if polished else ''} ({got})",
                    x=answer.x,
                    objective=objective,
                    bound=objective,
                    iterations=iterations,
                    row_duals=row_duals,
                    column_duals=column_duals,
                )
        return self._rough(program, answer, Status.NUMERICAL_ERROR, iterations, got)

    def _unsolved(
        self, program: Program, run: Run, rows: _Constraints, answer: Any, status: Status, iterations: int
    ) -> Solution:
        if status is Status.UNBOUNDED:  # OSQP says so of infeasible programs too
            status = infeasible_or_unbounded(self.solve, program, run, otherwise=status).status
        if status in (Status.INFEASIBLE, Status.UNBOUNDED):
            bound = float("inf") if status is Status.INFEASIBLE else None
            return Solution(status, answer.info.status, bound=bound, iterations=iterations)
        if answer.x is None or np.isnan(answer.x).any():
            return Solution(status, answer.info.status, iterations=iterations, extra={"advice": _advice()})
        got = residuals(program, answer.x, *rows.split(-answer.y))
        return self._rough(program, answer, status, iterations, got)

    def _rough(self, program: Program, answer: Any, status: Status, iterations: int, got: Residuals) -> Solution:
        """The last iterate: returned as a point only if it is at least feasible, and never as solved."""
        feasible = got.primal <= ACCURACY
        return Solution(
            status=status,
            raw_status=f"{answer.info.status}, rough ({got}). {_advice()}",
            x=answer.x if feasible else None,
            objective=program.objective(answer.x) if feasible else None,
            iterations=iterations,
            extra={"advice": _advice(), "rough_point": answer.x, "residuals": got},
        )


def _advice() -> str:
    return (
        f"This answer did not reach {ACCURACY:g}: scale the data (a StandardScaler), raise options={{'iteration_limit': ...}}, "
        f"or use an interior-point solver: solver='piqp', 'highs' or 'cvxpy:CLARABEL'."
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
        "polishing": True,
        "polish_refine_iter": 10,
        "max_iter": CHUNK,
    }
    P = sp.csc_matrix(sp.triu(program.Q if program.Q is not None else sp.csc_array(program.A.shape[1:] * 2)))
    solver.setup(P, np.array(program.c), rows.A, rows.lower, rows.upper, **settings | run.options.get("osqp", {}))
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
