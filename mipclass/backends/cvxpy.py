"""CVXPY: any solver it finds, as `cvxpy:NAME` (cvxpy:CLARABEL, cvxpy:SCS, cvxpy:SCIP ...).

A bridge, several times slower to load than a direct backend. Nothing can be asked of a solver while it runs through
CVXPY: there is no progress, and Ctrl-C or a callback's stop takes effect when it returns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..errors import OptionError, SolverNotFoundError
from ..modelling.program import Feature, Program
from ..protocol.options import Option, Options
from ..protocol.result import Status
from ..protocol.run import Run
from .base import Backend, Family, Solution, infeasible_or_unbounded, without_columns
from .kkt import ACCURACY, checked_solution

STATUS = {
    "optimal": Status.OPTIMAL,
    "optimal_inaccurate": Status.NUMERICAL_ERROR,
    "infeasible": Status.INFEASIBLE,
    "infeasible_inaccurate": Status.NUMERICAL_ERROR,
    "unbounded": Status.UNBOUNDED,  # unless a solve without the objective tells that it is infeasible
    "unbounded_inaccurate": Status.NUMERICAL_ERROR,
    "infeasible_or_unbounded": Status.NUMERICAL_ERROR,  # unless a solve without the objective tells which
    "user_limit": Status.ITERATION_LIMIT,
    "solver_error": Status.NUMERICAL_ERROR,
}
FEASIBLE = 1e-5
"""Largest violation of a point that comes without multipliers; beyond it the point is dropped."""
ADVICE = (
    f"This answer did not reach {ACCURACY:g}: tighten the solver's own tolerances in options={{'cvxpy': {{...}}}}, "
    "scale the data (a StandardScaler), or use solver='highs' or 'piqp'."
)

# How each solver is told the seconds and the relative gap; a solver not listed takes them by its own options only.
TIME_LIMIT: dict[str, Callable[[float], dict[str, Any]]] = {
    "CLARABEL": lambda s: {"time_limit": s},
    "SCS": lambda s: {"time_limit_secs": s},
    "OSQP": lambda s: {"time_limit": s},
    "HIGHS": lambda s: {"time_limit": s},
    "SCIP": lambda s: {"scip_params": {"limits/time": s}},
    "SCIPY": lambda s: {"scipy_options": {"time_limit": s}},
    "GUROBI": lambda s: {"TimeLimit": s},
    "CBC": lambda s: {"maximumSeconds": s},
    "GLPK_MI": lambda s: {"tm_lim": int(1000 * s)},
    "CPLEX": lambda s: {"cplex_params": {"timelimit": s}},
    "MOSEK": lambda s: {"mosek_params": {"MSK_DPAR_OPTIMIZER_MAX_TIME": s}},
}
GAP: dict[str, Callable[[float], dict[str, Any]]] = {
    "HIGHS": lambda g: {"mip_rel_gap": g},
    "SCIP": lambda g: {"scip_params": {"limits/gap": g}},
    "SCIPY": lambda g: {"scipy_options": {"mip_rel_gap": g}},
    "GLPK_MI": lambda g: {"mip_gap": g},
    "GUROBI": lambda g: {"MIPGap": g},
    "CPLEX": lambda g: {"cplex_params": {"mip.tolerances.mipgap": g}},
    "MOSEK": lambda g: {"mosek_params": {"MSK_DPAR_MIO_TOL_REL_GAP": g}},
}
# First-order solvers stop far too early by default.
TIGHT: dict[str, dict[str, Any]] = {
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 200_000},
    "OSQP": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 200_000, "polishing": False},  # its polish prints
}
# How each is told to leave presolve out; see second_look.
WITHOUT_PRESOLVE: dict[str, dict[str, Any]] = {
    "HIGHS": {"presolve": "off"},
    "SCIP": {"scip_params": {"presolving/maxrounds": 0}},
    "SCIPY": {"scipy_options": {"presolve": False}},
    "GUROBI": {"Presolve": 0},
    "GLPK_MI": {"presolve": False},
    "CPLEX": {"cplex_params": {"preprocessing.presolve": 0}},
    "MOSEK": {"mosek_params": {"MSK_IPAR_PRESOLVE_USE": 0}},
}
NO_DUALS = {"SCIP"}  # hands out multipliers of its presolved problem for LPs and none for QPs
_CONTINUOUS = frozenset({Feature.LP, Feature.QP})


class CvxpyFamily(Family):
    """Every solver that CVXPY has found."""

    prefix: ClassVar[str] = "cvxpy"
    module: ClassVar[str] = "cvxpy"
    distribution: ClassVar[str] = "cvxpy"

    def members(self) -> list[str]:
        """The solvers that CVXPY finds installed."""
        import cvxpy

        return list(cvxpy.installed_solvers())

    def member(self, solver: str) -> Backend:
        """The backend for one of them; upper and lower case are the same."""
        import cvxpy

        found = cvxpy.installed_solvers()
        if solver.upper() not in found:
            raise SolverNotFoundError(
                f"cvxpy does not find a solver {solver!r}; it finds {', '.join(found)}. Install the solver, or choose one of these."
            )
        solver = solver.upper()
        attributes = {
            "name": f"cvxpy:{solver}",
            "solver": solver,
            "features": _features(solver),
            "without_presolve": {"cvxpy": WITHOUT_PRESOLVE[solver]} if solver in WITHOUT_PRESOLVE else {},
        }
        backend: Backend = type(f"Cvxpy{solver.title()}", (CvxpyBackend,), attributes)()
        return backend


def _features(solver: str) -> frozenset[Feature]:
    """Read off CVXPY's own tables: who takes quadratic objectives, cones (an LP without them otherwise), integers."""
    from cvxpy.reductions.solvers import defines

    takes_squares = solver in {*defines.QP_SOLVERS, *_second_order()}
    continuous = _CONTINUOUS if takes_squares else frozenset({Feature.LP})
    if solver not in defines.INSTALLED_MI_SOLVERS:
        return continuous
    # HiGHS and SCIPY know no integers together with squares.
    squares = solver in defines.MI_SOCP_SOLVERS
    return continuous | {Feature.MIP} | ({Feature.MIQP} if squares else frozenset())


def _second_order() -> list[str]:
    """Cone solvers that take a second-order cone, hence a convex quadratic objective."""
    from cvxpy.constraints import SOC
    from cvxpy.reductions.solvers import defines

    return [name for name, solver in defines.SOLVER_MAP_CONIC.items() if SOC in solver.SUPPORTED_CONSTRAINTS]


class CvxpyBackend(Backend):
    """One solver behind CVXPY. Made by CvxpyFamily, which knows its features."""

    name: ClassVar[str] = "cvxpy"
    solver: ClassVar[str] = ""
    features: ClassVar[frozenset[Feature]] = _CONTINUOUS
    module: ClassVar[str] = "cvxpy"
    distribution: ClassVar[str] = "cvxpy"
    options: ClassVar[Options] = {
        "cvxpy": Option({}, "keyword arguments passed to Problem.solve as they are"),
    }

    def hears(self, program: Program) -> bool:
        """No: the solver behind CVXPY hears nothing before it returns."""
        return False

    def solve(self, program: Program, run: Run, start: Array | None = None) -> Solution:
        """See `Backend.solve`; CVXPY takes full starts only."""
        if program.n_columns == 0:
            return without_columns(program)
        stopped = run.stop()
        if stopped is not None:
            return Solution(stopped, "stopped before the solver was called")
        form = CvxpyForm(program)
        if start is not None and np.isfinite(start).all():
            form.start_from(start)
        raw = form.solve(self.solver, self.arguments(program, run))
        if raw in ("infeasible_or_unbounded", "unbounded"):
            told = infeasible_or_unbounded(self.solve, program, run, otherwise=STATUS[raw])
            return replace(told, raw_status=f"{raw}; {told.raw_status}", iterations=form.iterations())
        return self._read(program, form, raw, run)

    def arguments(self, program: Program, run: Run) -> dict[str, Any]:
        """The keyword arguments of CVXPY's solve: limits, accuracy, and the user's own."""
        arguments: dict[str, Any] = {"warm_start": True} | TIGHT.get(self.solver, {})
        if run.time_limit is not None:
            if self.solver not in TIME_LIMIT:
                raise OptionError(
                    f"mipclass does not know how {self.name!r} takes a time limit; give it by the solver's own name in "
                    f"options={{'cvxpy': {{...}}}} and leave time_limit out."
                )
            _merge(arguments, TIME_LIMIT[self.solver](max(1e-3, run.seconds_left())))
        if program.is_integer and self.solver in GAP:
            _merge(arguments, GAP[self.solver](run.gap))
        _merge(arguments, run.options.get("cvxpy", {}))
        return arguments

    def _read(self, program: Program, form: CvxpyForm, raw: str, run: Run) -> Solution:
        status = STATUS[raw.partition(":")[0]]
        if run.stop() is not None and (raw == "user_limit" or (raw == "optimal_inaccurate" and program.is_integer)):
            status = Status.TIME_LIMIT
        iterations = form.iterations()
        if status is Status.INFEASIBLE:
            return Solution(status, raw, bound=float("inf"), iterations=iterations)
        x = form.x.value
        if status is Status.UNBOUNDED or x is None:
            return Solution(status, raw, iterations=iterations)
        if status is Status.OPTIMAL and not program.is_integer and self.solver not in NO_DUALS:
            duals = form.duals()
            if duals is not None:
                point = np.asarray(x, dtype=np.float64)
                return checked_solution(program, point, duals, raw, run, advice=ADVICE, iterations=iterations)
        if program.violation(x) > FEASIBLE:
            kept = Status.NUMERICAL_ERROR if status is Status.OPTIMAL else status
            return Solution(
                kept, f"{raw}; its point violates the program by {program.violation(x):.1e}", iterations=iterations
            )
        objective = program.objective(x)
        proven = status is Status.OPTIMAL and (self.solver in GAP or not program.is_integer)
        bound = objective - run.gap * abs(objective) if proven else None
        run.report(objective=objective, bound=bound)
        return Solution(status, raw, x, objective, bound, iterations=iterations)


def _merge(into: dict[str, Any], more: dict[str, Any]) -> None:
    """Overlay options, one level deep, so that two of them may share a dictionary such as scip_params."""
    for name, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(name), dict):
            into[name] = into[name] | value
        else:
            into[name] = value


class CvxpyForm:
    """The program as one CVXPY problem over one vector, and the way back for its multipliers."""

    def __init__(self, program: Program) -> None:
        import cvxpy

        self._program = program
        self._parts = [
            (index, cvxpy.Variable(len(index), **kind))
            for index, kind in (
                (np.flatnonzero(~program.integer), {}),
                (np.flatnonzero(program.binary), {"boolean": True}),
                (np.flatnonzero(program.integer & ~program.binary), {"integer": True}),
            )
            if len(index)
        ]
        self.x = self._assemble()
        objective = program.c @ self.x + program.constant
        if program.Q is not None:
            objective += 0.5 * cvxpy.quad_form(self.x, cvxpy.psd_wrap(sp.csc_matrix(program.Q)))
        equal = program.row_lower == program.row_upper
        fixed = program.lower == program.upper
        sides = [
            # (rows or columns, sign of our multiplier against CVXPY's, constraint)
            *self._constraints(sp.csr_matrix(program.A), equal, program.row_lower, program.row_upper),
            *self._constraints(None, fixed, program.lower, program.upper),
        ]
        self.sides = sides
        # SCS refuses a problem without any row, so an unconstrained one gets an empty row.
        constraints = [constraint for *_, constraint in sides] or [0 * cvxpy.sum(self.x) <= 1]
        self.problem = cvxpy.Problem(cvxpy.Minimize(objective), constraints)

    def _assemble(self) -> Any:
        """The whole vector from the variables of each kind."""
        if len(self._parts) == 1:
            return self._parts[0][1]
        n = self._program.n_columns
        return sum(
            sp.csr_matrix((np.ones(len(index)), (index, np.arange(len(index)))), shape=(n, len(index))) @ part
            for index, part in self._parts
        )

    def start_from(self, x: Array) -> None:
        """CVXPY refuses values that a variable's kind does not allow, so a start is moved to the nearest that it does."""
        near = np.clip(x, self._program.lower, self._program.upper)
        near = np.where(self._program.integer, np.round(near), near)
        for index, part in self._parts:
            part.value = near[index]

    def _constraints(self, A: Any, equal: Any, lower: Array, upper: Array) -> list[tuple[bool, Any, float, Any]]:
        def value(index: Any) -> Any:
            return self.x[index] if A is None else A[index] @ self.x

        of_rows = A is not None
        found = []
        index = np.flatnonzero(equal)
        if len(index):
            found.append((of_rows, index, -1.0, value(index) == lower[index]))
        index = np.flatnonzero(~equal & np.isfinite(lower))
        if len(index):
            found.append((of_rows, index, 1.0, value(index) >= lower[index]))
        index = np.flatnonzero(~equal & np.isfinite(upper))
        if len(index):
            found.append((of_rows, index, -1.0, value(index) <= upper[index]))
        return found

    def solve(self, solver: str, arguments: dict[str, Any]) -> str:
        """CVXPY's status; a solver's own failure is 'solver_error: its words'."""
        import cvxpy

        try:
            with warnings.catch_warnings():
                # What CVXPY warns of (inaccurate, cannot tell which) is in the status, and measured by the backend.
                warnings.simplefilter("ignore", UserWarning)
                self.problem.solve(solver=solver, **arguments)
        except cvxpy.error.SolverError as err:
            return f"solver_error: {err}"
        except (ArithmeticError, IndexError, ValueError) as err:
            # CVXPY's interfaces fail so on what their solvers return; that of SCIP may lose the multiplier of a row.
            return f"solver_error: {type(err).__name__} inside CVXPY's interface to {solver}: {err}"
        return str(self.problem.status)

    def iterations(self) -> int | None:
        """The solver's iterations, where CVXPY knows them."""
        stats = self.problem.solver_stats
        count = stats.num_iters if stats is not None else None
        return count if isinstance(count, int) else None

    def duals(self) -> tuple[Array, Array] | None:
        """CVXPY's Lagrangian adds multipliers of (left - right); ours subtracts multipliers of the active side.

        None where the solver gave none: GLPK_MI has no multipliers, not even of a program without integers.
        """
        if any(constraint.dual_value is None for *_, constraint in self.sides):
            return None
        row_duals, column_duals = np.zeros(self._program.n_rows), np.zeros(self._program.n_columns)
        for of_rows, index, sign, constraint in self.sides:
            (row_duals if of_rows else column_duals)[index] += sign * np.atleast_1d(constraint.dual_value)
        return row_duals, column_duals
