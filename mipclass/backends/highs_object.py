"""A HiGHS object that holds a Program: loading, statuses, threads. What `highs` and `linear_session` share.

Facts (highspy 1.15; tests/backends/test_highs.py checks them): an empty integrality array empties the model without an error, so a
full one is always passed and every status is checked; only the lower triangle of a Hessian is read; the threads of a run
outlive it and hang a forked child, so they are ended after each run that used more than one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..errors import MipclassError
from ..modelling.program import Program
from ..protocol.result import Status

STATUS = {
    "kOptimal": Status.OPTIMAL,
    "kInfeasible": Status.INFEASIBLE,
    "kUnbounded": Status.UNBOUNDED,
    "kUnboundedOrInfeasible": Status.INFEASIBLE,  # only after runs without presolve and without objective
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


class HighsError(MipclassError, RuntimeError):
    """HiGHS refused a call; the message says which."""


def check(status: Any, what: str) -> None:
    """Raise unless HiGHS said kOk or kWarning."""
    if status.name == "kError":
        raise HighsError(f"HiGHS could not {what}.")


def load(program: Program) -> Any:
    """A silent Highs object holding the program, loaded in one vectorised call."""
    import highspy

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
