"""LPs, convex QPs and MIPs given to HiGHS as they are.

Facts this file relies on (highspy 1.15; tests/backends/test_highs.py checks them): after an error `getSolution` still hands out
a stale point, so a point is read only under a status that allows it; an unbounded QP is called optimal (its solver adds a tiny
square), so a QP's multipliers are checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..modelling.program import Feature, Program
from ..protocol.result import Status
from ..protocol.run import Run
from .base import Solution, infeasible_or_unbounded, without_columns
from .highs_object import STATUS, check, configure, end_threads, farkas_ray, give_start, load, run_watched
from .kkt import ACCURACY, residuals
from .rays import find_descent

QP_AIM = 1e-8
"""The residual from which no further proximal round is tried."""
PROXIMAL_ROUNDS = 6
"""Most rounds of the proximal-point method that undo HiGHS's regularisation; two or three suffice as a rule."""
NO_BOUND = 1e300
"""HiGHS writes an absent objective or bound as an infinity; anything this large counts as one."""
_FEASIBLE = 2  # HighsInfo.primal_solution_status of a feasible point


def solve_directly(program: Program, run: Run, start: Array | None = None) -> Solution:
    """Solve an LP, a convex QP or a MIP within the limits of `run`, with its options (see HighsBackend)."""
    highs = load(program)
    configure(highs, run, run.options)
    if program.Q is not None and run.options.get("iteration_limit") is None:
        limit = 100_000 + 100 * (program.n_columns + program.n_rows)  # its QP solver can cycle without end
        check(highs.setOptionValue("qp_iteration_limit", limit), "limit the iterations of the QP solver")
    if start is not None:
        give_start(highs, program, start)

    def report(out: Any) -> None:
        objective, bound = _finite(out.mip_primal_bound), _finite(out.mip_dual_bound)
        run.report(objective=objective, bound=bound, nodes=int(out.mip_node_count))

    try:
        ran = run_watched(highs, program, run, report, run.options.get("hooks"))
        if highs.getModelStatus().name == "kUnboundedOrInfeasible":
            check(highs.setOptionValue("presolve", "off"), "switch presolve off")
            ran = highs.run()
        if program.Q is not None:
            ran = _undo_regularisation(highs, program, run, ran)
        if highs.getModelStatus().name == "kUnboundedOrInfeasible":
            return infeasible_or_unbounded(solve_directly, program, run, otherwise=Status.NUMERICAL_ERROR)
        return read_solution(highs, program, run, ok=ran.name != "kError")
    finally:
        if run.threads > 1:
            end_threads()


def _finite(value: float) -> float | None:
    return float(value) if abs(value) < NO_BOUND else None


def read_solution(highs: Any, program: Program, run: Run, *, ok: bool) -> Solution:
    """What a run of HiGHS has found; `ok` says that the run itself returned no error."""
    model_status = highs.getModelStatus()
    raw = highs.modelStatusToString(model_status)
    status = STATUS[model_status.name] if ok else Status.NUMERICAL_ERROR
    if status is Status.INTERRUPTED and run.stop() is Status.TIME_LIMIT:
        status = Status.TIME_LIMIT
    if model_status.name == "kModelEmpty" and program.n_columns == 0:
        return without_columns(program)
    info = highs.getInfo()
    nodes = int(info.mip_node_count) if program.is_integer else None
    iterations = (
        max(0, info.simplex_iteration_count) + max(0, info.ipm_iteration_count) + max(0, info.qp_iteration_count)
    )
    x = row_duals = column_duals = ray = objective = None
    if ok and status not in (Status.INFEASIBLE, Status.UNBOUNDED, Status.NUMERICAL_ERROR):
        if info.primal_solution_status == _FEASIBLE:
            solution = highs.getSolution()
            x = np.array(solution.col_value)
            objective = program.objective(x) if np.isfinite(x).all() else None
            if status is Status.OPTIMAL and not program.is_integer and solution.dual_valid:
                row_duals, column_duals = np.array(solution.row_dual), np.array(solution.col_dual)
            if status is Status.OPTIMAL and program.Q is not None:
                doubt = _doubt(program, run, x, row_duals, column_duals)
                if doubt is not None:
                    return doubt
        elif status is Status.OPTIMAL:
            status = Status.NUMERICAL_ERROR
    if status is Status.INFEASIBLE and program.kind is Feature.LP:
        ray = farkas_ray(highs)
    return Solution(
        status=status,
        raw_status=raw,
        x=x,
        objective=objective,
        bound=_bound(info, program, status, objective),
        nodes=nodes,
        iterations=int(iterations),
        row_duals=row_duals,
        column_duals=column_duals,
        ray=ray,
    )


def _bound(info: Any, program: Program, status: Status, objective: float | None) -> float | None:
    if status is Status.INFEASIBLE:
        return float("inf")
    if not program.is_integer:
        return objective if status is Status.OPTIMAL else None
    if status in (Status.UNBOUNDED, Status.NUMERICAL_ERROR):
        return None
    bound = _finite(info.mip_dual_bound)
    return bound if bound is None or objective is None else min(bound, objective)


def _undo_regularisation(highs: Any, program: Program, run: Run, ran: Any) -> Any:
    """Solve a QP again until HiGHS's regularisation no longer shows; the status of the last run.

    HiGHS minimises f(x) + e/2 |x|^2 in place of a QP's f, visibly off where columns are badly scaled. Solving again with
    costs c - e x_k makes this the proximal-point method, whose limit is a minimiser of f.
    """
    weight = highs.getOptionValue("qp_regularization_value")[1]
    columns = np.arange(program.n_columns, dtype=np.int32)
    for _ in range(PROXIMAL_ROUNDS):
        if ran.name == "kError" or highs.getModelStatus().name != "kOptimal" or run.stop() is not None:
            return ran
        solution = highs.getSolution()
        x = np.array(solution.col_value)
        if not np.isfinite(x).all() or not solution.dual_valid:
            return ran
        row_duals, column_duals = np.array(solution.row_dual), np.array(solution.col_dual)
        if residuals(program, x, row_duals, column_duals).worst <= QP_AIM:
            return ran
        check(highs.changeColsCost(len(columns), columns, program.c - weight * x), "change costs")
        if run.time_limit is not None:
            check(highs.setOptionValue("time_limit", highs.getRunTime() + run.seconds_left()), "set the time limit")
        ran = highs.run()
    return ran


def _doubt(
    program: Program, run: Run, x: Array, row_duals: Array | None, column_duals: Array | None
) -> Solution | None:
    """None when the multipliers of a QP's "optimal" point prove it; else the honest answer."""
    if row_duals is None or column_duals is None or not np.isfinite(x).all():
        got, worst = "no multipliers", np.inf
    else:
        measured = residuals(program, x, row_duals, column_duals)
        got, worst = str(measured), measured.worst
    if worst <= ACCURACY:
        return None
    if find_descent(program, run, solve_directly) is not None:
        return Solution(Status.UNBOUNDED, "Optimal, but a direction of unbounded descent exists")
    advice = "Scale the data (a StandardScaler), or use solver='piqp' or 'cvxpy:CLARABEL'."
    extra = {"advice": advice, "rough_point": x}
    return Solution(Status.NUMERICAL_ERROR, f"Optimal, rough ({got}). {advice}", extra=extra)
