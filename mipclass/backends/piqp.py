"""PIQP: LPs and convex QPs by a proximal interior-point method; the fastest here for dense QPs."""

from __future__ import annotations

from time import perf_counter
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..modelling.program import Feature, Program
from ..protocol.options import Option, Options, number, one_of
from ..protocol.result import Status
from ..protocol.run import Run
from .base import Backend, Solution, infeasible_or_unbounded, without_columns
from .kkt import checked_solution
from .rays import proves_infeasible

STATUS = {
    "PIQP_SOLVED": Status.OPTIMAL,
    "PIQP_MAX_ITER_REACHED": Status.ITERATION_LIMIT,
    "PIQP_PRIMAL_INFEASIBLE": Status.INFEASIBLE,
    "PIQP_DUAL_INFEASIBLE": Status.UNBOUNDED,
    "PIQP_NUMERICS": Status.NUMERICAL_ERROR,
    "PIQP_UNSOLVED": Status.NUMERICAL_ERROR,
    "PIQP_INVALID_SETTINGS": Status.NUMERICAL_ERROR,
}
AIM_ABSOLUTE, AIM_RELATIVE = 1e-9, 1e-10
"""What PIQP is asked for: far below kkt.ACCURACY, since its residuals are of its scaled program."""
ITERATIONS = 250
"""Most iterations unless the user gives another limit."""
ADVICE = "Scale the data (a StandardScaler), or use solver='highs' or 'cvxpy:CLARABEL'."
DENSE = 0.2
"""Fraction of nonzeros in Q from which the dense factorisation is the faster one."""


class PiqpBackend(Backend):
    """LPs and convex QPs without integers."""

    name: ClassVar[str] = "piqp"
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.LP, Feature.QP})
    module: ClassVar[str] = "piqp"
    distribution: ClassVar[str] = "piqp"
    extra: ClassVar[str | None] = "piqp"
    promise: ClassVar[str] = "proven to 1e-6: residuals recomputed from the program"
    options: ClassVar[Options] = {
        "iteration_limit": Option(ITERATIONS, "most interior-point iterations", number(1, integer=True)),
        "linear_algebra": Option("choose", "which factorisation", one_of("choose", "dense", "sparse")),
        "piqp": Option({}, "settings passed to PIQP as they are, by PIQP's own names"),
    }

    def hears(self, program: Program) -> bool:
        """No: a factorisation is one step."""
        return False

    def solve(self, program: Program, run: Run, start: Array | None = None) -> Solution:
        """See `Backend.solve`; an interior-point method has no use for a start."""
        if program.n_columns == 0:
            return without_columns(program)
        stopped = run.stop()
        if stopped is not None:
            return Solution(stopped, "stopped before the first iteration")
        rows = _RowKinds(program)
        solver = _set_up(program, rows, run)
        limit, by_clock = _iteration_limit(solver, run)
        solver.settings.max_iter = limit
        raw = solver.solve()
        status = STATUS[raw.name]
        if status is Status.ITERATION_LIMIT:
            # It converges in far fewer iterations than its default limit, or not at all.
            status = Status.TIME_LIMIT if by_clock else Status.NUMERICAL_ERROR if limit >= ITERATIONS else status
        iterations = int(solver.result.info.iter)
        if status is Status.OPTIMAL:
            x, duals = np.array(solver.result.x), _duals(program, rows, solver.result)
            return checked_solution(program, x, duals, raw.name, run, advice=ADVICE, iterations=iterations)
        words, ray = raw.name, None
        if status is Status.UNBOUNDED:  # PIQP says so of infeasible programs too
            status = infeasible_or_unbounded(self.solve, program, run, otherwise=status).status
        row_duals, _ = _duals(program, rows, solver.result)
        if status is not Status.UNBOUNDED and proves_infeasible(program, row_duals):
            # PIQP often runs to its iteration limit here, its multipliers growing along a proof of infeasibility.
            status, words, ray = Status.INFEASIBLE, f"{raw.name}; its multipliers prove infeasibility", row_duals
        bound = float("inf") if status is Status.INFEASIBLE else None
        extra = {"advice": ADVICE} if status is Status.NUMERICAL_ERROR else {}
        return Solution(status, words, bound=bound, iterations=iterations, ray=ray, extra=extra)


class _RowKinds:
    """PIQP's two kinds of rows, as positions; rows without a finite side (it prints about each) are left out."""

    def __init__(self, program: Program) -> None:
        equal = program.row_lower == program.row_upper
        bounded = np.isfinite(program.row_lower) | np.isfinite(program.row_upper)
        self.equal, self.inequal = np.flatnonzero(equal), np.flatnonzero(~equal & bounded)


def _set_up(program: Program, rows: _RowKinds, run: Run) -> Any:
    import piqp

    n = program.n_columns
    share = 0.0 if program.Q is None else program.Q.nnz / n**2
    wanted = run.options.get("linear_algebra", "choose")
    dense = wanted == "dense" or (wanted == "choose" and share >= DENSE)
    solver = piqp.DenseSolver() if dense else piqp.SparseSolver()
    settings: dict[str, Any] = {"verbose": False, "eps_abs": AIM_ABSOLUTE, "eps_rel": AIM_RELATIVE}
    settings |= {"check_duality_gap": True, "eps_duality_gap_abs": AIM_ABSOLUTE, "eps_duality_gap_rel": AIM_RELATIVE}
    for name, value in (settings | run.options.get("piqp", {})).items():
        setattr(solver.settings, name, value)

    def matrix(M: Any) -> Any:
        # A copy, because PIQP wants to be able to write.
        return np.asfortranarray(M.toarray()) if dense else sp.csc_matrix(M, copy=True)

    Q = program.Q if program.Q is not None else sp.csc_array((n, n))
    solver.setup(
        matrix(Q),
        np.array(program.c),
        matrix(program.A[rows.equal]),
        program.row_lower[rows.equal],
        matrix(program.A[rows.inequal]),
        program.row_lower[rows.inequal],
        program.row_upper[rows.inequal],
        np.array(program.lower),
        np.array(program.upper),
    )
    return solver


def _iteration_limit(solver: Any, run: Run) -> tuple[int, bool]:
    """PIQP knows no clock: under a time limit, time one iteration and allow as many as fit. (limit, set by the clock)"""
    limit = int(run.options.get("iteration_limit", ITERATIONS))
    if run.time_limit is None:
        return limit, False
    solver.settings.max_iter = 1
    began = perf_counter()
    solver.solve()
    fit = int(run.seconds_left() / max(1e-9, perf_counter() - began))
    return max(1, min(limit, fit)), fit < limit


def _duals(program: Program, rows: _RowKinds, result: Any) -> tuple[Array, Array]:
    """PIQP has Qx + c + A'y + G'(z_u - z_l) + z_bu - z_bl = 0."""
    row_duals: Array = np.zeros(program.n_rows)
    row_duals[rows.equal] = -np.array(result.y)
    row_duals[rows.inequal] = np.array(result.z_l) - np.array(result.z_u)
    return row_duals, np.array(result.z_bl) - np.array(result.z_bu)
