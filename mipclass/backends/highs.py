"""HiGHS: LP, convex QP and MIP; the embedded default.

Facts this file relies on (highspy 1.15; tests/backends/test_highs.py checks them): after an error `getSolution` still hands out a
stale point, so a point is read only under a status that allows it; an unbounded QP is called optimal (its solver adds a tiny
square), so a QP's multipliers are checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..errors import OptionError
from ..modelling.program import Feature, Program
from ..protocol.hooks import Hooks, check_hooks_without_cuts
from ..protocol.options import Option, Options, number, one_of, optional
from ..protocol.result import Status
from ..protocol.run import Run
from .base import Backend, Solution
from .highs_object import STATUS, HighsError, check, end_threads, farkas_ray, load, set_threads
from .kkt import residuals
from .linear_session import LinearSession

__all__ = ["STATUS", "HighsBackend", "HighsError", "LinearSession", "load"]

QP_ACCURACY = 1e-6  # what the multipliers of a QP must reach, measured by kkt.residuals
QP_AIM = 1e-8  # from where no further round is tried
_PROXIMAL_ROUNDS = 6
_FEASIBLE = 2  # HighsInfo.primal_solution_status of a feasible point


class HighsBackend(Backend):
    """Any LP, convex QP or MIP. Convex MIQPs go through a loop of MIPs and QPs, see outer_approximation."""

    name: ClassVar[str] = "highs"
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.LP, Feature.QP, Feature.MIP, Feature.MIQP})
    module: ClassVar[str] = "highspy"
    distribution: ClassVar[str] = "highspy"
    hooks: ClassVar[frozenset[str]] = frozenset({"incumbent"})
    options: ClassVar[Options] = {
        "algorithm": Option("choose", "LP algorithm", one_of("choose", "simplex", "ipm", "pdlp")),
        "presolve": Option("choose", "presolve", one_of("choose", "on", "off")),
        "node_limit": Option(None, "most nodes of a MIP search", optional(number(1, integer=True))),
        "iteration_limit": Option(None, "most simplex or QP iterations", optional(number(0, integer=True))),
        "feasibility_tolerance": Option(
            None,
            "largest accepted violation of a row; None is HiGHS's own choice, 1e-7 and for a MIP 1e-6",
            optional(number(1e-10, 1e-2)),
        ),
        "hooks": Option(
            None,
            "Hooks, of which the `incumbent` rule proposes points during a MIP search; propagation and branching are left out",
            check_hooks_without_cuts,
        ),
        "highs": Option({}, "options passed to HiGHS as they are, by HiGHS's own names"),
    }

    def solve(self, program: Program, run: Run) -> Solution:
        if program.kind is Feature.MIQP:
            from .outer_approximation import solve_miqp

            return solve_miqp(program, run)
        highs = load(program)
        configure(highs, run)
        if program.Q is not None and run.options.get("iteration_limit") is None:
            limit = 100_000 + 100 * (program.n_columns + program.n_rows)  # its QP solver can cycle without end
            check(highs.setOptionValue("qp_iteration_limit", limit), "limit the iterations of the QP solver")
        if run.warm_start is not None and "x" in run.warm_start:
            give_start(highs, program, run.warm_start["x"])

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
            if highs.getModelStatus().name == "kUnboundedOrInfeasible" and self._is_feasible(program, run):
                return Solution(Status.UNBOUNDED, "Unbounded or infeasible, and a feasible point exists")
            return _read(highs, program, run, ok=ran.name != "kError")
        finally:
            if run.threads > 1:
                end_threads()

    def _is_feasible(self, program: Program, run: Run) -> bool:
        """Without the objective, 'unbounded or infeasible' leaves only one of the two."""
        bare = program.replace_with(c=np.zeros(program.n_columns), Q=None)
        return self.solve(bare, Run.quiet(time_limit=run.time_limit and run.seconds_left())).x is not None


def configure(highs: Any, run: Run) -> None:
    """Set threads, limits, gap and the user's options."""
    set_threads(highs, run.threads)
    options = run.options
    settings: dict[str, Any] = {
        "random_seed": run.seed % (2**31),
        "solver": options.get("algorithm", "choose"),
        "presolve": options.get("presolve", "choose"),
        "mip_rel_gap": run.gap,
    }
    if options.get("feasibility_tolerance") is not None:
        settings["primal_feasibility_tolerance"] = options["feasibility_tolerance"]
        settings["mip_feasibility_tolerance"] = options["feasibility_tolerance"]
    if run.time_limit is not None:
        settings["time_limit"] = run.seconds_left()
    if options.get("node_limit") is not None:
        settings["mip_max_nodes"] = options["node_limit"]
    if options.get("iteration_limit") is not None:
        settings["simplex_iteration_limit"] = options["iteration_limit"]
        settings["qp_iteration_limit"] = options["iteration_limit"]
    settings |= options.get("highs", {})
    for name, value in settings.items():
        if highs.setOptionValue(name, value).name == "kError":
            raise OptionError(
                f"HiGHS does not accept its option {name!r} = {value!r}; see the list of HiGHS's options."
            )


def give_start(highs: Any, program: Program, x: Array) -> None:
    """A full or partial start: NaN marks unknown columns, and values out of bounds (an error to HiGHS) are left out."""
    known = np.flatnonzero((x >= program.lower) & (x <= program.upper)).astype(np.int32)
    if len(known):
        check(highs.setSolution(len(known), known, x[known]), "take the warm start")


def run_watched(
    highs: Any, program: Program, run: Run, report: Callable[[Any], None], hooks: Hooks | None = None
) -> Any:
    """Run HiGHS with progress, stop requests and proposed incumbents through its callbacks; its HighsStatus.

    An exception in a user's callback must not unwind through HiGHS: it is kept and raised once HiGHS has returned.
    """
    failure: list[BaseException] = []

    def guarded(event: Any, action: Callable[[], None]) -> None:
        try:
            if not failure:
                action()
        except BaseException as err:
            failure.append(err)
        if failure or run.stop() is not None:
            event.interrupt()

    def offer(event: Any, propose: Callable[[Array | None], Array | None]) -> None:
        point = propose(None)
        if point is not None:
            event.data_in.setSolution(np.asarray(point, dtype=np.float64))

    def on_mip(event: Any) -> None:
        guarded(event, lambda: report(event.data_out))

    def on_iteration(event: Any) -> None:
        guarded(event, lambda: None)

    watched = [(highs.cbSimplexInterrupt, on_iteration), (highs.cbIpmInterrupt, on_iteration)]
    if program.is_integer:
        watched = [(highs.cbMipInterrupt, on_mip), (highs.cbMipImprovingSolution, on_mip)]
        if hooks is not None and hooks.incumbent is not None:
            propose = hooks.incumbent
            watched.append((highs.cbMipUserSolution, lambda event: guarded(event, lambda: offer(event, propose))))
    for source, listener in watched:
        source.subscribe(listener)
    try:
        ran = highs.run()
    finally:
        for source, listener in watched:
            source.unsubscribe(listener)
    if failure:
        raise failure[0]
    return ran


def _finite(value: float) -> float | None:
    return float(value) if abs(value) < 1e300 else None


def _read(highs: Any, program: Program, run: Run, *, ok: bool) -> Solution:
    model_status = highs.getModelStatus()
    raw = highs.modelStatusToString(model_status)
    status = STATUS[model_status.name] if ok else Status.NUMERICAL_ERROR
    if status is Status.INTERRUPTED and run.stop() is Status.TIME_LIMIT:
        status = Status.TIME_LIMIT
    if model_status.name == "kModelEmpty" and program.n_columns == 0:
        return Solution(Status.OPTIMAL, raw, np.zeros(0), program.constant, program.constant)
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
                doubt = _doubt(program, x, row_duals, column_duals)
                if doubt is not None:
                    return doubt
        elif status is Status.OPTIMAL:
            status = Status.NUMERICAL_ERROR
    if status is Status.UNBOUNDED and program.Q is not None and not _falls_forever(program):
        advice = "HiGHS calls this QP unbounded, but it has no direction of endless descent; use solver='piqp' or 'cvxpy:CLARABEL'."
        return Solution(Status.NUMERICAL_ERROR, f"{raw}. {advice}", extra={"advice": advice})
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
    """HiGHS minimises f(x) + e/2 |x|^2 in place of a QP's f, visibly off where columns are badly scaled. Solving again with
    costs c - e x_k makes this the proximal-point method, whose limit is a minimiser of f; two or three rounds do."""
    weight = highs.getOptionValue("qp_regularization_value")[1]
    columns = np.arange(program.n_columns, dtype=np.int32)
    for _ in range(_PROXIMAL_ROUNDS):
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


def _doubt(program: Program, x: Array, row_duals: Array | None, column_duals: Array | None) -> Solution | None:
    """None when the multipliers of a QP's "optimal" point prove it; else the honest answer."""
    if row_duals is None or column_duals is None or not np.isfinite(x).all():
        got, worst = "no multipliers", np.inf
    else:
        measured = residuals(program, x, row_duals, column_duals)
        got, worst = str(measured), measured.worst
    if worst <= QP_ACCURACY:
        return None
    if _falls_forever(program):
        return Solution(Status.UNBOUNDED, "Optimal, but a direction of unbounded descent exists")
    advice = "Scale the data (a StandardScaler), or use solver='piqp' or 'cvxpy:CLARABEL'."
    extra = {"advice": advice, "rough_point": x}
    return Solution(Status.NUMERICAL_ERROR, f"Optimal, rough ({got}). {advice}", extra=extra)


def _falls_forever(program: Program) -> bool:
    """Whether some direction d has Qd = 0, c'd < 0 and stays feasible for ever: an LP over the recession cone."""

    def side(bounds: Array, infinite: float) -> Array:
        return np.where(np.isinf(bounds), infinite, 0.0)

    n, m = program.n_columns, program.n_rows
    recession = Program(
        c=program.c,
        A=sp.csr_array(sp.vstack([program.A, program.Q])),
        row_lower=np.concatenate([side(program.row_lower, -np.inf), np.zeros(n)]),
        row_upper=np.concatenate([side(program.row_upper, np.inf), np.zeros(n)]),
        lower=side(program.lower, -1.0),
        upper=side(program.upper, 1.0),
        integer=np.zeros(n, dtype=bool),
        name=f"recession directions of {program.name} ({m} rows)",
    )
    found = HighsBackend().solve(recession, Run.quiet())
    return found.objective is not None and found.objective < -1e-6 * max(1.0, float(np.abs(program.c).max()))
