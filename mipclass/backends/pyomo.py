"""Pyomo: any solver it finds, as `pyomo:NAME` (pyomo:highs, pyomo:cbc, pyomo:glpk ...).

A bridge for solvers that only Pyomo reaches; loading takes about two hundred times as long as a direct backend. There is
no progress while the solver runs, and Ctrl-C or a callback's stop takes effect when it returns.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..errors import SolverNotFoundError
from ..modelling.program import Feature, Program
from ..protocol.options import Option, Options
from ..protocol.result import Status
from ..protocol.run import Run
from .base import Backend, Family, Solution, StoppedBuilding, infeasible_or_unbounded, keep_building, without_columns
from .kkt import reduced_costs

STATUS = {
    "optimal": Status.OPTIMAL,
    "globallyOptimal": Status.OPTIMAL,
    "locallyOptimal": Status.OPTIMAL,  # of a convex program; only Q is ever non-linear here
    "feasible": Status.ITERATION_LIMIT,
    "infeasible": Status.INFEASIBLE,
    "unbounded": Status.UNBOUNDED,
    "infeasibleOrUnbounded": Status.NUMERICAL_ERROR,  # unless a solve without the objective tells which
    "maxTimeLimit": Status.TIME_LIMIT,
    "maxIterations": Status.ITERATION_LIMIT,
    "maxEvaluations": Status.NODE_LIMIT,
    "minFunctionValue": Status.NODE_LIMIT,
    "minStepLength": Status.NUMERICAL_ERROR,
    "userInterrupt": Status.INTERRUPTED,
    "resourceInterrupt": Status.INTERRUPTED,
    "intermediateNonInteger": Status.NUMERICAL_ERROR,
    "invalidProblem": Status.NUMERICAL_ERROR,
    "noSolution": Status.NUMERICAL_ERROR,
    "solverFailure": Status.NUMERICAL_ERROR,
    "internalSolverError": Status.NUMERICAL_ERROR,
    "licensingProblems": Status.NUMERICAL_ERROR,
    "error": Status.NUMERICAL_ERROR,
    "other": Status.NUMERICAL_ERROR,
    "unknown": Status.NUMERICAL_ERROR,
}
FEASIBLE = 1e-5
"""Largest violation of a point, relative to its size; beyond it the point is dropped."""
_LINEAR = frozenset({Feature.LP, Feature.MIP})
_ALL = frozenset({Feature.LP, Feature.QP, Feature.MIP, Feature.MIQP})
# What each solver takes through Pyomo. One that is not listed is offered LPs and MIPs.
FEATURES = {
    "highs": _LINEAR | {Feature.QP},
    "appsi_highs": _LINEAR,
    "cbc": _LINEAR,
    "glpk": _LINEAR,
    # SCIP does not see that an expanded square over free columns is convex and branches without end; use solver="scip".
    "scip": _LINEAR,
    "scip_direct": _LINEAR,
    "gurobi": _ALL,
    "gurobi_direct": _ALL,
    "cplex": _ALL,
    "cplex_direct": _ALL,
    "xpress": _ALL,
    "xpress_direct": _ALL,
    "mosek": _ALL,
    "cuopt": _LINEAR,
    "ipopt": frozenset({Feature.LP, Feature.QP}),
}
# How each is asked for a relative gap; without a line here "optimal" is to the solver's own default gap, with no bound.
GAP: dict[str, str] = {
    "highs": "mip_rel_gap",
    "appsi_highs": "mip_rel_gap",
    "cbc": "ratio",
    "glpk": "mipgap",
    "scip": "limits/gap",
    "scip_direct": "limits/gap",
    "gurobi": "MIPGap",
    "gurobi_direct": "MIPGap",
    "cplex": "mip_tolerances_mipgap",
    "xpress": "miprelstop",
}
# How each is told to leave presolve out; see second_look.
WITHOUT_PRESOLVE: dict[str, dict[str, Any]] = {
    "highs": {"presolve": "off"},
    "appsi_highs": {"presolve": "off"},
    "cbc": {"preprocess": "off"},
    "glpk": {"nopresol": ""},
    "scip": {"presolving/maxrounds": 0},
    "scip_direct": {"presolving/maxrounds": 0},
    "gurobi": {"Presolve": 0},
    "gurobi_direct": {"Presolve": 0},
    "cplex": {"preprocessing_presolve": 0},
    "xpress": {"presolve": 0},
}
NO_DUALS = {"scip", "scip_direct"}
WHOLE_SECONDS = {"glpk"}  # refuses a fractional time limit


class PyomoFamily(Family):
    """The mathematical-programming solvers that Pyomo has found."""

    prefix: ClassVar[str] = "pyomo"
    module: ClassVar[str] = "pyomo"
    distribution: ClassVar[str] = "pyomo"

    def members(self) -> list[str]:
        """The solvers of the table FEATURES that Pyomo finds installed."""
        return [solver for solver in FEATURES if _is_available(solver)]

    def member(self, solver: str) -> Backend:
        """The backend for any solver that Pyomo finds, in the table or not."""
        if not _is_available(solver):
            found = ", ".join(self.members())
            raise SolverNotFoundError(
                f"pyomo does not find a solver {solver!r}; it finds {found}. Install the solver, or choose one of these."
            )
        attributes = {
            "name": f"pyomo:{solver}",
            "solver": solver,
            "features": FEATURES.get(solver, _LINEAR),
            "without_presolve": {"pyomo": WITHOUT_PRESOLVE[solver]} if solver in WITHOUT_PRESOLVE else {},
        }
        backend: Backend = type(f"Pyomo{solver.title()}", (PyomoBackend,), attributes)()
        return backend


def _is_available(solver: str) -> bool:
    from pyomo.environ import SolverFactory

    with _hushed():
        return bool(SolverFactory(solver).available(exception_flag=False))


@contextmanager
def _hushed() -> Iterator[None]:
    """Pyomo logs what it also returns or raises."""
    logger = logging.getLogger("pyomo")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


class PyomoBackend(Backend):
    """One solver behind Pyomo. Made by PyomoFamily, which knows its features."""

    name: ClassVar[str] = "pyomo"
    solver: ClassVar[str] = ""
    features: ClassVar[frozenset[Feature]] = _LINEAR
    module: ClassVar[str] = "pyomo"
    distribution: ClassVar[str] = "pyomo"
    options: ClassVar[Options] = {
        "pyomo": Option({}, "the solver's own options, passed on as they are"),
    }

    def hears(self, program: Program) -> bool:
        """No: the solver behind Pyomo hears nothing before it returns."""
        return False

    def solve(self, program: Program, run: Run, start: Array | None = None) -> Solution:
        """See `Backend.solve`; the start is left out, since few of Pyomo's solvers take one."""
        if program.n_columns == 0:
            return without_columns(program)
        if _has_impossible_empty_row(program):
            return Solution(Status.INFEASIBLE, "a row without entries cannot hold", bound=float("inf"))
        with_duals = not program.is_integer and self.solver not in NO_DUALS
        try:
            with _hushed():
                model = build(program, run, with_duals=with_duals)
        except StoppedBuilding as stopped:
            return Solution(stopped.status, "stopped while the model was built")
        raw, results = self._call(model, program, run)
        if raw == "infeasibleOrUnbounded":
            return infeasible_or_unbounded(self.solve, program, run, STATUS[raw], **run.options)
        status = STATUS[raw.partition(":")[0]]
        if raw == "feasible" and run.stop() is not None:  # glpk's word for a limit
            status = Status.TIME_LIMIT
        if status is Status.INFEASIBLE:
            return Solution(status, raw, bound=float("inf"))
        if status is Status.UNBOUNDED or results is None or not len(results.solution):
            return Solution(status, raw)
        with _hushed():
            model.solutions.load_from(results)
        return self._read(program, model, results, raw, status, run, with_duals)

    def _call(self, model: Any, program: Program, run: Run) -> tuple[str, Any]:
        """(Pyomo's termination condition, its results); a solver that crashed is 'error: its words'."""
        from pyomo.common.errors import ApplicationError
        from pyomo.environ import SolverFactory

        options = dict(run.options.get("pyomo", {}))
        if program.is_integer and self.solver in GAP:
            options.setdefault(GAP[self.solver], run.gap)
        arguments: dict[str, Any] = {"load_solutions": False}
        if run.time_limit is not None:
            seconds = max(1e-2, run.seconds_left())
            arguments["timelimit"] = ceil(seconds) if self.solver in WHOLE_SECONDS else seconds
        with _hushed():
            try:
                results = SolverFactory(self.solver).solve(model, options=options, **arguments)
            except ApplicationError as err:
                return f"error: {err}", None
        return str(results.solver.termination_condition), results

    def _read(
        self, program: Program, model: Any, results: Any, raw: str, status: Status, run: Run, with_duals: bool
    ) -> Solution:
        x = np.array([np.nan if v.value is None else v.value for v in model.x.values()], dtype=np.float64)
        x = np.where(np.isnan(x), np.clip(0.0, program.lower, program.upper), x)  # columns that no row or cost mentions
        violation = program.violation(x) / max(1.0, float(np.abs(x).max()))
        if violation > FEASIBLE:
            kept = Status.NUMERICAL_ERROR if status is Status.OPTIMAL else status
            return Solution(kept, f"{raw}; its point violates the program by {violation:.1e}")
        objective = program.objective(x)
        row_duals = column_duals = None
        if with_duals and status is Status.OPTIMAL:
            row_duals, column_duals = _duals(program, model, x)
        bound = self._bound(program, results, status, objective, run)
        run.report(objective=objective, bound=bound)
        return Solution(status, raw, x, objective, bound, row_duals=row_duals, column_duals=column_duals)

    def _bound(self, program: Program, results: Any, status: Status, objective: float, run: Run) -> float | None:
        if not program.is_integer:
            return objective if status is Status.OPTIMAL else None
        if self.solver not in GAP:
            return None
        if status is Status.OPTIMAL:
            return objective - run.gap * abs(objective)
        reported = results.problem[0].lower_bound
        usable = isinstance(reported, int | float) and np.isfinite(reported) and reported <= objective
        return float(reported) if usable else None


def _has_impossible_empty_row(program: Program) -> bool:
    """0 >= 1 and the like, which Pyomo does not accept as a constraint."""
    empty = np.diff(program.A.indptr) == 0
    return bool((empty & ((program.row_lower > 0) | (program.row_upper < 0))).any())


def _duals(program: Program, model: Any, x: Array) -> tuple[Array, Array]:
    """Row multipliers as Pyomo gives them, and the reduced costs that they leave."""
    row_duals = np.array(
        [model.dual.get(model.rows[i], 0.0) if i in model.rows else 0.0 for i in range(program.n_rows)]
    )
    return row_duals, reduced_costs(program, x, row_duals)


def build(program: Program, run: Run, *, with_duals: bool) -> Any:
    """A ConcreteModel with variables x[j] and constraints rows[i]; rows without a finite side or an entry are left out."""
    import pyomo.environ as pyo
    from pyomo.core.expr import LinearExpression

    model = pyo.ConcreteModel(name=program.name)
    kinds = np.where(program.binary, "B", np.where(program.integer, "I", "C")).tolist()
    domain = {"B": pyo.Binary, "I": pyo.Integers, "C": pyo.Reals}
    lower, upper = _none_if_infinite(program.lower), _none_if_infinite(program.upper)
    model.x = pyo.Var(
        range(program.n_columns),
        domain=lambda _, j: domain[kinds[j]],
        bounds=lambda _, j: (lower[j], upper[j]),
    )
    x = list(model.x.values())
    linear = LinearExpression(constant=program.constant, linear_coefs=program.c.tolist(), linear_vars=x)
    quadratic: Any = 0.0
    if program.Q is not None:
        half = sp.coo_array(sp.tril(program.Q))
        weights = np.where(half.coords[0] == half.coords[1], 0.5, 1.0) * half.data
        quadratic = pyo.quicksum(w * x[i] * x[j] for i, j, w in zip(*half.coords, weights.tolist(), strict=True))
    model.objective = pyo.Objective(expr=linear + quadratic)
    model.rows = pyo.Constraint(range(program.n_rows), rule=_row_rule(program, x, run))
    if with_duals:
        model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    return model


def _row_rule(program: Program, x: list[Any], run: Run) -> Callable[[Any, int], Any]:
    from pyomo.core.expr import LinearExpression
    from pyomo.environ import Constraint

    data, indices, starts = program.A.data.tolist(), program.A.indices.tolist(), program.A.indptr.tolist()
    lower, upper = _none_if_infinite(program.row_lower), _none_if_infinite(program.row_upper)

    def rule(_: Any, i: int) -> Any:
        keep_building(run, i)
        span = slice(starts[i], starts[i + 1])
        if span.start == span.stop or (lower[i] is None and upper[i] is None):
            return Constraint.Skip
        row = LinearExpression(linear_coefs=data[span], linear_vars=[x[j] for j in indices[span]])
        return (lower[i], row, upper[i])

    return rule


def _none_if_infinite(bounds: Array) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in bounds.tolist()]
