"""A logistic loss beside a Program, in CVXPY's exponential cones.

minimise the program   subject to   sum_i weights_i log(1 + exp(-(M x)_i)) <= x_k    for its epigraph column k.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..modelling.program import Program
from ..protocol.result import Status
from ..protocol.run import Run
from .base import Solution
from .cvxpy import STATUS, CvxpyBackend, CvxpyForm

ACCURATE: dict[str, dict[str, Any]] = {
    "CLARABEL": {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-10},
}
"""Tolerances of solvers whose own (1e-8) leave a dual bound farther than 1e-6 away, after it is recomputed from the point."""


def takes_exponentials(backend: Any) -> bool:
    """The backend is a solver behind CVXPY that takes exponential cones."""
    if not isinstance(backend, CvxpyBackend):
        return False
    from cvxpy.constraints import ExpCone
    from cvxpy.reductions.solvers import defines

    solver = defines.SOLVER_MAP_CONIC.get(backend.solver)
    return solver is not None and ExpCone in solver.SUPPORTED_CONSTRAINTS


def solve_with_logistic(
    backend: CvxpyBackend, program: Program, run: Run, epigraph: int, weights: Array, M: Any
) -> Solution:
    """The program with the loss in its epigraph column; the point is not checked here."""
    import cvxpy

    form = CvxpyForm(program)
    loss = cvxpy.sum(cvxpy.multiply(weights, cvxpy.logistic(-(M @ form.x))))
    form.problem = cvxpy.Problem(form.problem.objective, [*form.problem.constraints, loss <= form.x[epigraph]])
    raw = form.solve(backend.solver, ACCURATE.get(backend.solver, {}) | backend.arguments(program, run))
    status = STATUS[raw.partition(":")[0]]
    x = form.x.value
    if x is None or status in (Status.INFEASIBLE, Status.UNBOUNDED):
        return Solution(status, raw, iterations=form.iterations())
    return Solution(status, raw, np.asarray(x, dtype=np.float64), iterations=form.iterations())
