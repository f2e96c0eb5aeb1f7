"""cccp: the concave-convex procedure for the robust SVM over a grid of theta or s, warm-started (the paper's peer).

The loss is the hinge minus (1 - theta) [s - m]_+. Linearising the second part at the present margins gives
eta_i = C_i (1 - theta) [m_i < s], and the convex problem has the dual

    min 1/2 a'Qa - 1'a,   -eta_i <= a_i <= C_i - eta_i.

Solve, update eta, repeat until eta stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...arrays import Array, Mask
from ...modelling.problem import Problem
from ...protocol.options import Option, Options, number, one_of
from ...protocol.result import Outcome, Status
from ...protocol.run import Run
from ..base import Method, Refusal
from .form import RobustForm, match_robust
from .kernels.dual_coordinate import MultiplierBounds
from .solution_path import Parameter
from .svm.dual_descent import converge, descent_on

CANDIDATES = 5  # values of the parameter
TOLERANCE = 1e-4  # largest projected gradient of a convex solve
ACCURACY = 1e-3  # of the interior point, relative to that tolerance: coordinate descent then has little left to do
ROUNDS = 500  # convex solves per value of the parameter; each lowers the objective, so only rounding can need as many


@dataclass(frozen=True)
class Candidate:
    """The solution that CCCP reached for one value of the parameter."""

    theta: float
    s: float
    alpha: Array
    outliers: Mask
    objective: float
    rounds: int


def concave_convex(
    form: RobustForm,
    run: Run,
    parameter: Parameter,
    grid: Sequence[float] | None = None,
    *,
    candidates: int = CANDIDATES,
    tolerance: float = TOLERANCE,
    start: Array | None = None,
) -> tuple[list[Candidate], Status | None]:
    """CCCP at each value of `grid` in turn, each from the solution before; the first starts at the SVM.

    Without a grid: `candidates` equal steps from theta = 1, or from the smallest margin of the SVM, to the model's value.
    `start`: multipliers of the SVM, if known. The status says why it stopped early, or is None.
    """
    C, accuracy = form.C, ACCURACY * tolerance
    descent = descent_on(form.points.operator, tolerance, run.seed)
    if start is not None:
        descent.begin(start)
    status = converge(descent, MultiplierBounds(np.zeros(len(C)), C), accuracy, run)
    m = descent.margins()
    if grid is None:
        first, last = (1.0, form.theta) if parameter == "theta" else (min(m.min(), form.s), form.s)
        grid = [float(v) for v in np.linspace(first, last, candidates)]
    found: list[Candidate] = []
    eta = np.zeros(len(C))
    for value in grid:
        theta, s = (value, form.s) if parameter == "theta" else (form.theta, value)
        rounds = 0
        while status is None and rounds < ROUNDS:
            new = C * (1.0 - theta) * (m < s)
            rounds += 1
            if np.array_equal(new, eta):
                break
            status = run.stop()
            if status is not None:
                break
            eta = new
            status = converge(descent, MultiplierBounds(-eta, C - eta), accuracy, run)
            m = descent.margins()
        loss = np.where(m >= s, np.maximum(0.0, 1.0 - m), (1.0 - s) + theta * (s - m))
        objective = float(0.5 * (descent.a @ m) + C @ loss)
        found.append(Candidate(theta, s, descent.a.copy(), m < s, objective, rounds))
        run.report(objective=form.scale * objective, iterations=sum(c.rounds for c in found), theta=theta, s=s)
        if status is not None:
            break
    return found, status


class CCCP(Method[RobustForm]):
    """0.5 * L2() + C * Ramp(theta, s), rule Linear or Kernel. extra["candidates"] holds the solutions along the grid."""

    name: ClassVar[str] = "cccp"
    promise: ClassVar[str] = "heuristic: a stationary point to the tolerance of its coordinate descent"
    options: ClassVar[Options] = {
        "path": Option("theta", "which parameter runs over the grid, 'theta' or 's'", one_of("theta", "s")),
        "candidates": Option(
            CANDIDATES, "values of the parameter, in equal steps from the SVM", number(1, integer=True)
        ),
        "tolerance": Option(TOLERANCE, "largest projected gradient of a convex solve", number(1e-12)),
    }

    def match(self, problem: Problem) -> RobustForm | Refusal:
        """The robust SVM that the problem states, or why it states none."""
        return match_robust(problem)

    def solve(self, form: RobustForm, run: Run) -> Outcome:
        """CCCP over the grid; the last candidate is the answer."""
        options = run.options
        grid = None if options["candidates"] > 1 else [form.theta if options["path"] == "theta" else form.s]
        found, status = concave_convex(
            form, run, options["path"], grid, candidates=options["candidates"], tolerance=options["tolerance"]
        )
        last = found[-1]
        values = form.values(last.alpha)
        return Outcome(
            status=status or Status.OPTIMAL,
            claim="heuristic",
            values=values,
            objective=float(form.model.recount(values)),
            iterations=sum(candidate.rounds for candidate in found),
            raw_status="partition unchanged" if status is None else str(status),
            extra={"candidates": found, "outliers": form.of_all_points(last.outliers)},
        )
