"""cccp: the concave-convex procedure for the robust SVM over a grid of theta or s, warm-started (the paper's peer).

The loss is the hinge minus (1 - theta) [s - m]_+. Linearising the second part at the present margins gives
eta_i = C_i (1 - theta) [m_i < s], and the convex problem has the dual

    min 1/2 a'Qa - 1'a,   -eta_i <= a_i <= C_i - eta_i.

Solve, update eta, repeat until eta stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...numeric.random import random_state
from ...protocol.options import Option, Options, number, one_of
from ...protocol.result import Outcome, Status
from ...protocol.run import Run
from ..base import Method
from .form import RobustProblem, read, refusal
from .kernels.dual_coordinate import kernel_descent, linear_descent
from .solution_path import Parameter
from .svm_interior import LARGEST_D, interior_point

CANDIDATES = 5
ROUNDS = 500
SWEEPS_A_CALL = 500
STEPS_A_CALL = 20_000


@dataclass(frozen=True)
class Candidate:
    """The solution that CCCP reached for one value of the parameter."""

    theta: float
    s: float
    alpha: Array
    outliers: NDArray[np.bool_]
    objective: float
    rounds: int


class BoxSVM:
    """min 1/2 a'Qa - 1'a over a box, by coordinate descent from where it stands; where that is slow, by interior point first."""

    def __init__(self, Z: Array, *, linear: bool, tolerance: float, seed: int = 0) -> None:
        self.Z, self.linear, self.tolerance = Z, linear, tolerance
        self.diagonal = np.einsum("ij,ij->i", Z, Z) if linear else np.diagonal(Z).copy()
        self.a = np.zeros(len(Z))
        self.m = np.zeros(len(Z))
        self.w = np.zeros(Z.shape[1])
        self._random = random_state(seed)

    def begin(self, a: Array) -> None:
        """Stand at the multipliers a."""
        self.a = a.copy()
        if self.linear:
            self.w = self.Z.T @ a
            self.m = self.Z @ self.w
        else:
            self.m = self.Z @ a

    def solve(self, lower: Array, upper: Array, run: Run) -> Status | None:
        """Move a into the box and to the optimum; returns why it stopped early, or None."""
        clipped = np.clip(self.a, lower, upper)
        moved = np.flatnonzero(clipped != self.a)
        change = (clipped - self.a)[moved]
        self.a = clipped
        status: Status | None = None
        if self.linear:
            self.w += self.Z[moved].T @ change
            done = self._sweep(lower, upper)
            status = run.stop()
            if not done and status is None and len(self.w) <= LARGEST_D:
                self.a = lower + interior_point(
                    self.Z, upper - lower, 1e-3 * self.tolerance, run.stop, self.Z.T @ lower
                )
                self.w = self.Z.T @ self.a
            while not done and status is None:
                done, status = self._sweep(lower, upper), run.stop()
            self.m = self.Z @ self.w
            return None if done else status
        self.m += self.Z[moved].T @ change
        while True:
            used, _ = kernel_descent(self.Z, lower, upper, self.a, self.m, self.diagonal, self.tolerance, STEPS_A_CALL)
            if used < STEPS_A_CALL:
                return None
            status = run.stop()
            if status is not None:
                return status

    def _sweep(self, lower: Array, upper: Array) -> bool:
        """At most SWEEPS_A_CALL sweeps of coordinate descent; whether they reached the tolerance."""
        used, _ = linear_descent(
            self.Z, lower, upper, self.a, self.w, self.diagonal, self.tolerance, SWEEPS_A_CALL, self._random
        )
        return bool(used < SWEEPS_A_CALL)


def concave_convex(
    robust: RobustProblem,
    run: Run,
    parameter: Parameter,
    grid: Sequence[float] | None = None,
    *,
    candidates: int = CANDIDATES,
    tolerance: float = 1e-4,
    start: Array | None = None,
) -> tuple[list[Candidate], Status | None]:
    """CCCP at each value of `grid` in turn, each from the solution before; the first starts at the SVM.

    `start`: multipliers of the SVM, if known. Without a grid: `candidates` equal steps from theta = 1, or from the smallest margin of the SVM, to the model's value.
    """
    svm = BoxSVM(robust.Z, linear=robust.linear, tolerance=tolerance, seed=run.seed)
    if start is not None:
        svm.begin(start)
    status = svm.solve(np.zeros(len(robust.C)), robust.C, run)
    if grid is None:
        first, last = (1.0, robust.theta) if parameter == "theta" else (min(svm.m.min(), robust.s), robust.s)
        grid = [float(v) for v in np.linspace(first, last, candidates)]
    found: list[Candidate] = []
    eta = np.zeros(len(robust.C))
    for value in grid:
        theta, s = (value, robust.s) if parameter == "theta" else (robust.theta, value)
        rounds = 0
        while status is None and rounds < ROUNDS:
            new = robust.C * (1.0 - theta) * (svm.m < s)
            rounds += 1
            if np.array_equal(new, eta):
                break
            eta = new
            status = svm.solve(-eta, robust.C - eta, run)
        m = svm.m
        loss = np.where(m >= s, np.maximum(0.0, 1.0 - m), (1.0 - s) + theta * (s - m))
        objective = float(0.5 * (svm.a @ m) + robust.C @ loss)
        found.append(Candidate(theta, s, svm.a.copy(), m < s, objective, rounds))
        run.report(objective=robust.scale * objective, iterations=sum(c.rounds for c in found), theta=theta, s=s)
        if status is not None:
            break
    return found, status


class CCCP(Method):
    """0.5 * L2() + C * Ramp(theta, s), rule Linear or Kernel. extra["candidates"] holds the solutions along the grid."""

    name: ClassVar[str] = "cccp"
    promise: ClassVar[str] = "heuristic: a stationary point to the tolerance of its coordinate descent"
    options: ClassVar[Options] = {
        "path": Option("theta", "which parameter runs over the grid, 'theta' or 's'", one_of("theta", "s")),
        "candidates": Option(
            CANDIDATES, "values of the parameter, in equal steps from the SVM", number(1, integer=True)
        ),
        "tolerance": Option(1e-4, "largest projected gradient of a convex solve", number(1e-12)),
    }

    def refuses(self, problem: Any) -> str | None:
        return refusal(problem)

    def prefers(self, problem: Any) -> bool:
        return False

    def solve(self, problem: Any, run: Run) -> Outcome:
        robust = read(problem)
        options = run.options
        grid = None if options["candidates"] > 1 else [robust.theta if options["path"] == "theta" else robust.s]
        found, status = concave_convex(
            robust, run, options["path"], grid, candidates=options["candidates"], tolerance=options["tolerance"]
        )
        last = found[-1]
        values = robust.values(last.alpha)
        kept = problem.points.point_of >= 0
        outliers = np.zeros(problem.data.n, dtype=bool)
        outliers[kept] = last.outliers[problem.points.point_of[kept]]
        return Outcome(
            status=status or Status.OPTIMAL,
            claim="heuristic",
            values=values,
            objective=float(problem.recount(values)),
            iterations=sum(candidate.rounds for candidate in found),
            raw_status="partition unchanged" if status is None else str(status),
            extra={"candidates": found, "outliers": outliers},
        )
