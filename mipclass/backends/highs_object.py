"""A HiGHS object that holds a Program: loading it, settings, starts, running under watch, statuses and threads.

Used by everything here that runs HiGHS: `highs_direct`, `outer_approximation`, `linear_session` and `highs_iis`.

Facts (highspy 1.15; tests/backends/test_highs.py checks them): an empty integrality array empties the model without an error, so a
full one is always passed and every status is checked; only the lower triangle of a Hessian is read; the threads of a run
outlive it and hang a forked child, so they are ended after each run that used more than one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..errors import MipclassError, OptionError, UnsupportedProgramError
from ..modelling.program import Program
from ..protocol.hooks import Hooks
from ..protocol.result import Status
from ..protocol.run import Run

STATUS = {
    "kOptimal": Status.OPTIMAL,
    "kInfeasible": Status.INFEASIBLE,
    "kUnbounded": Status.UNBOUNDED,
    "kUnboundedOrInfeasible": Status.NUMERICAL_ERROR,  # where nobody asks further, see base.infeasible_or_unbounded
    "kTimeLimit": Status.TIME_LIMIT,
    "kIterationLimit": Status.ITERATION_LIMIT,
    "kSolutionLimit": Status.NODE_LIMIT,
    "kObjectiveBound": Status.NODE_LIMIT,
    "kObjectiveTarget": Status.NODE_LIMIT,
    "kInterrupt": Status.INTERRUPTED,
    "kHighsInterrupt": Status.INTERRUPTED,
    "kModelEmpty": Status.NUMERICAL_ERROR,
    "kUnknown": Status.NUMERICAL_ERROR,
    "kMemoryLimit": Status.NUMERICAL_ERROR,
    "kLoadError": Status.NUMERICAL_ERROR,
    "kModelError": Status.NUMERICAL_ERROR,
    "kPresolveError": Status.NUMERICAL_ERROR,
    "kSolveError": Status.NUMERICAL_ERROR,
    "kPostsolveError": Status.NUMERICAL_ERROR,
    "kNotset": Status.NUMERICAL_ERROR,
}


LARGEST_COEFFICIENT = 1e15
"""HiGHS loads no program with a coefficient of this absolute value or more (its option large_matrix_value)."""


class HighsError(MipclassError, RuntimeError):
    """HiGHS refused a call; the message says which."""


def check(status: Any, what: str) -> None:
    """Raise unless HiGHS said kOk or kWarning."""
    if status.name == "kError":
        raise HighsError(f"HiGHS could not {what}.")


def load(program: Program) -> Any:
    """A silent Highs object holding the program, loaded in one vectorised call."""
    import highspy

    _check_coefficients(program)
    highs = highspy.Highs()
    highs.silent()
    A = program.A
    check(
        highs.passModel(
            program.n_columns,
            program.n_rows,
            A.nnz,
            int(highspy.MatrixFormat.kRowwise),
            int(highspy.ObjSense.kMinimize),
            program.constant,
            program.c,
            program.lower,
            program.upper,
            program.row_lower,
            program.row_upper,
            A.indptr.astype(np.int32, copy=False),
            A.indices.astype(np.int32, copy=False),
            A.data,
            program.integer.astype(np.int32),
        ),
        f"load program {program.name!r}",
    )
    if program.Q is not None:
        lower = sp.csc_array(sp.tril(program.Q, format="csc"))
        triangular = int(highspy.HessianFormat.kTriangular)
        check(
            highs.passHessian(
                program.n_columns,
                lower.nnz,
                triangular,
                lower.indptr.astype(np.int32),
                lower.indices.astype(np.int32),
                lower.data,
            ),
            f"load the Hessian of {program.name!r}",
        )
    return highs


def _check_coefficients(program: Program) -> None:
    """Refuse coefficients that HiGHS does not load, with the name of the first one."""
    A = program.A
    if not A.nnz or max(A.data.max(), -A.data.min()) < LARGEST_COEFFICIENT:
        return
    k = int(np.argmax(np.abs(A.data)))
    row = int(np.searchsorted(A.indptr, k, side="right")) - 1
    raise UnsupportedProgramError(
        f"HiGHS cannot load program {program.name!r}: the coefficient of {program.column_names()[A.indices[k]]} in row "
        f"{program.row_names()[row]} is {A.data[k]:.3g}, and HiGHS takes absolute values below {LARGEST_COEFFICIENT:.0e}. Express the feature "
        "in another unit (e.g. sklearn's MaxAbsScaler), or use another solver, such as solver='scip'."
    )


def configure(highs: Any, run: Run, options: Mapping[str, Any]) -> None:
    """Set threads, limits, gap and the solver's options."""
    set_threads(highs, run.threads)
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


_threads_in_use: int | None = None


def end_threads() -> None:
    """End the threads of HiGHS's scheduler: a child forked while they live hangs at its first run."""
    global _threads_in_use
    import highspy

    highspy.Highs.resetGlobalScheduler(True)
    _threads_in_use = None


def set_threads(highs: Any, threads: int) -> None:
    """HiGHS has one scheduler a process; it must be reset before the number of threads may change."""
    global _threads_in_use
    if _threads_in_use is not None and _threads_in_use != threads:
        highs.resetGlobalScheduler(True)
    check(highs.setOptionValue("threads", threads), f"use {threads} threads")
    _threads_in_use = threads


def farkas_ray(highs: Any) -> Array | None:
    """Row multipliers y with y'A x >= y' row bounds contradictory; None when HiGHS has none (presolve found it)."""
    found, exists = highs.getDualRayExist()
    if found.name == "kOk" and exists:
        got = highs.getDualRay()
        if got[1]:
            return np.array(got[2])
    return None
