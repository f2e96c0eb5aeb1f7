"""The convex logistic problem in exponential cones, on a conic solver behind CVXPY: a second opinion for `newton`.

The point comes from the conic solver; the loss and, where the constraints are bounds, the dual bound are recomputed from the data.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ...backends.base import Backend
from ...backends.cvxpy import CvxpyBackend
from ...backends.cvxpy_cones import solve_with_logistic, takes_exponentials
from ...modelling.model import Model
from ...models.logistic import Logistic
from ...models.rules import Linear
from ...protocol.result import Claim, Outcome, Status
from ...protocol.run import Run
from ..base import Refusal
from .design import Design
from .form import read_form
from .gap import lower_bound

TOLERANCE = 1e-6
"""Relative gap to the recomputed dual bound at which the point counts as proven: what conic solvers reach."""


def takes_cones(model: Model, backend: Backend) -> bool:
    """The problem is continuous with one logistic loss, and the backend takes exponential cones."""
    loss = model.term(Logistic)
    if loss is None or loss[1].is_free or not isinstance(model.rule, Linear) or not takes_exponentials(backend):
        return False
    program = model.program()
    return not program.is_integer and not len(program.indicators.row)


def by_cones(model: Model, backend: Backend, run: Run) -> Outcome:
    """Solve in conic form and evaluate the answer from the data."""
    assert isinstance(backend, CvxpyBackend)
    program, points = model.program(), model.points
    loss = model.term(Logistic)
    assert loss is not None
    X = sp.csr_array(points.X)
    M = sp.lil_array((points.n, program.n_columns))
    M[:, program.block("w").start : program.block("w").stop] = X
    if any(block.name == "b" for block in program.variables):
        M[:, [program.block("b").start]] = np.ones((points.n, 1))
    signed = sp.csr_array(sp.diags_array(points.y_pm1 / loss[1].range[0]) @ sp.csr_array(M))
    solution = solve_with_logistic(backend, program, run, program.block("loss").start, points.weights, signed)
    if solution.x is None:
        claim: Claim = "proven" if solution.status is Status.INFEASIBLE else "none"
        bound = float("inf") if solution.status is Status.INFEASIBLE else None
        return Outcome(run.stop() or solution.status, claim, None, None, bound, raw_status=solution.raw_status)
    values = model.decode(solution.x)
    objective = model.recount(values)
    below = _bound(model, values)
    closed = below is not None and objective - below <= TOLERANCE * max(1.0, abs(objective))
    status = solution.status
    if status is Status.OPTIMAL and below is not None and not closed:
        status = Status.NUMERICAL_ERROR
    return Outcome(
        status,
        "proven" if closed and status is Status.OPTIMAL else "heuristic",
        values,
        objective,
        below,
        iterations=solution.iterations,
        raw_status=f"exponential cones: {solution.raw_status}",
    )


def _bound(model: Model, values: dict[str, np.ndarray]) -> float | None:
    """The dual bound at the point's probabilities; None where the constraints are more than bounds."""
    form = read_form(model)
    if isinstance(form, Refusal):
        return None
    design = Design.of(form)
    x = np.append(values["w"], float(values["b"])) if design.has_offset else np.asarray(values["w"])
    below = lower_bound(design, 1.0 / (1.0 + np.exp(np.clip(design.margins(x), -700.0, 700.0))))
    return below if np.isfinite(below) else None
