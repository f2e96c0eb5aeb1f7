"""A case of the conformance suite, and what it asks of every answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..backends.base import Backend, Solution
from ..backends.kkt import residuals
from ..modelling.program import Program
from ..protocol.options import resolve_options
from ..protocol.result import Status
from ..protocol.run import Run
from ..solving.continuous import answered

LIMITS = (Status.TIME_LIMIT, Status.NODE_LIMIT, Status.ITERATION_LIMIT, Status.INTERRUPTED)


@dataclass(frozen=True)
class Tolerance:
    """How exact a backend has to be: violations of rows, relative objective error, relative residual of multipliers."""

    feasibility: float = 1e-6
    objective: float = 1e-6
    duals: float = 1e-6


TOLERANCES: dict[str, Tolerance] = {
    "default": Tolerance(),
    "highs": Tolerance(),
    "osqp": Tolerance(),
    "piqp": Tolerance(),
    "scip": Tolerance(feasibility=2e-6),  # its own default is 1e-6, relative to a row's size
    "cvxpy:CLARABEL": Tolerance(),
    "cvxpy:HIGHS": Tolerance(),
    "cvxpy:SCIP": Tolerance(feasibility=2e-6),
    "pyomo:highs": Tolerance(),
    "pyomo:cbc": Tolerance(feasibility=1e-5),  # answers in a text file with few digits
    "pyomo:glpk": Tolerance(feasibility=1e-5),
}


@dataclass(frozen=True)
class Case:
    """One check of one backend. `check()` raises AssertionError with the reason when it fails."""

    name: str
    backend: Backend
    tolerance: Tolerance
    body: Callable[[Case], None]

    def check(self) -> None:
        """Run the case."""
        self.body(self)

    def __str__(self) -> str:
        return f"{self.backend.name}-{self.name}"

    # -- helpers for the bodies ---------------------------------------------------------------------------------------

    def solve(self, program: Program, start: Array | None = None, **settings: Any) -> Solution:
        """Solve under a fresh Run as the driver does, claims checked; `settings` are the Run's. The program must not change."""
        options = resolve_options(self.backend.name, self.backend.options, settings.pop("options", None))
        before = replace(program)
        solution = answered(program, self.backend, Run(options=options, **settings), start)
        require(program == before, "solve changed the program")
        self.require_honest(program, solution)
        return solution

    def require_honest(self, program: Program, solution: Solution) -> None:
        """What holds of every answer, whatever its status."""
        require(isinstance(solution.status, Status), f"status {solution.status!r} is not a Status")
        if solution.status in (Status.INFEASIBLE, Status.UNBOUNDED):
            require(solution.x is None, f"a point came with status {solution.status}")
        if solution.status is Status.OPTIMAL:
            require(solution.x is not None, "status optimal without a point")
        if solution.x is not None:
            require(solution.x.shape == (program.n_columns,), f"x has shape {solution.x.shape}")
            scale = max(1.0, float(np.abs(solution.x).max(initial=0.0)))
            violation = program.violation(solution.x) / scale
            require(violation <= self.tolerance.feasibility, f"the point violates the program by {violation:.2e}")
            require(solution.objective is not None, "a point without an objective")
            self.require_close(solution.objective, program.objective(solution.x), "objective against the point's own")
            if solution.bound is not None:
                excess = solution.bound - program.objective(solution.x)
                require(excess <= self._room(solution.bound), f"the bound is {excess:.2e} above the objective")

    def require_optimal(self, program: Program, solution: Solution, truth: float) -> None:
        """The answer is optimal, its objective and bound are the truth, and its multipliers prove it."""
        require(
            solution.status is Status.OPTIMAL, f"status {solution.status} ({solution.raw_status}), expected optimal"
        )
        self.require_close(solution.objective, truth, "objective")
        if solution.bound is not None:
            self.require_close(solution.bound, truth, "bound")
        self.require_multipliers(program, solution)

    def require_multipliers(self, program: Program, solution: Solution) -> None:
        """Multipliers are optional; given, they must prove optimality."""
        if solution.row_duals is None or solution.column_duals is None or solution.x is None:
            return
        got = residuals(program, solution.x, solution.row_duals, solution.column_duals)
        require(got.worst <= self.tolerance.duals, f"the multipliers do not prove optimality: {got}")

    def require_close(self, got: float | None, truth: float, what: str) -> None:
        """The number is the truth, within the tolerance."""
        require(got is not None, f"no {what}")
        assert got is not None
        require(abs(got - truth) <= self._room(truth), f"{what} is {got!r}, the truth is {truth!r}")

    def _room(self, value: float) -> float:
        return self.tolerance.objective * max(1.0, abs(value))


def require(holds: bool, otherwise: str) -> None:
    """Raise AssertionError with the reason unless it holds."""
    if not holds:
        raise AssertionError(otherwise)
