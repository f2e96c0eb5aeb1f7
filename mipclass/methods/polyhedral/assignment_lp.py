"""Three ways to solve the polyhedral LP for one assignment after another: warm simplex, interior point, any backend."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ...arrays import Array, Positions
from ...backends.base import Backend
from ...models.point_sets import PointSets, assignment_bounds, assignment_dual, descent_lp, planes_of_dual
from ...protocol.result import Status
from ...protocol.run import Run
from .assignment_interior_point import solve_assignment
from .near_kinks import NearKinks

TOLERANCE = 1e-9
"""Tolerance of the interior point, relative to 1 + value."""

MANY_POINTS = 2000
"""Points of A and B from which on the interior point carries along only those near a kink, if it can."""

WARM_SIMPLEX_COLUMNS = 1600
"""Dual columns (m + k) h above which the interior point overtakes the warm simplex (benchmarks/studies/polyhedral)."""


class AssignmentLP(Protocol):
    """Hyperplanes that minimise the LP with B assigned as given, and a lower bound on that LP's value."""

    def solve(self, assignment: Positions, run: Run) -> tuple[Array, float] | None:
        """(hyperplanes, lower bound), or None when `run` stopped the LP before it was solved."""

    def set_l1(self, l1: Array) -> None:
        """Change the price of each column's |v_c|."""

    def begin_near(self, planes: Array, step: float = 0.0) -> None:
        """Expect the next answer near these hyperplanes, those of a sample, say, and about `step` away in the largest entry (0: unknown); a solver may ignore it."""


class WarmDual:
    """HiGHS's simplex on the dual LP: a new assignment changes bounds of pi, and the last basis is the start."""

    def __init__(self, sets: PointSets, h: int) -> None:
        from ...backends.linear_session import LinearSession

        self.sets, self.h = sets, h
        self.session = LinearSession(assignment_dual(sets, h))
        self.pi = np.arange(len(sets.A) * h, (len(sets.A) + len(sets.B)) * h)
        self.upper = np.zeros(len(self.pi))

    def solve(self, assignment: Positions, run: Run) -> tuple[Array, float] | None:
        """The planes are the row duals; the bound is the dual's value."""
        upper = assignment_bounds(self.sets, assignment, self.h)
        changed = np.flatnonzero(upper != self.upper)
        self.session.set_column_bounds(self.pi[changed], 0.0, upper[changed])
        self.upper = upper
        answer = self.session.solve(run)
        if answer.row_duals is None or answer.objective is None:
            return None
        return planes_of_dual(answer.row_duals, self.sets.A.shape[1], self.h), 0.0 - answer.objective

    def set_l1(self, l1: Array) -> None:
        """Change the price of each column's |v_c|, which only moves bounds of rows."""
        self.sets = self.sets._replace(l1=l1)
        slack = np.repeat(l1, self.h)
        self.session.set_row_bounds(np.arange(len(slack)), -slack, slack)

    def begin_near(self, planes: Array, step: float = 0.0) -> None:
        """Nothing to do: a simplex solver starts from a basis."""


class InteriorPoint:
    """The structured interior point; hyperplanes without a point of B are left out and come back as 0.x <= 1."""

    def __init__(self, sets: PointSets, h: int, tolerance: float = TOLERANCE) -> None:
        self.sets, self.h, self.tolerance = sets, h, tolerance
        self.near = NearKinks(sets, h, tolerance) if len(sets.A) + len(sets.B) >= MANY_POINTS else None

    def solve(self, assignment: Positions, run: Run) -> tuple[Array, float] | None:
        """The planes of the last iterate; the bound is the multipliers' value, up to its tolerance."""
        used, compact = np.unique(assignment, return_inverse=True)
        if self.near is not None and len(used) == self.h:
            answer = self.near.solve(assignment, run)
        else:
            compact = compact.astype(np.intp)
            answer = solve_assignment(self.sets, compact, len(used), tolerance=self.tolerance, stop=run.stop)
        if run.stop() is not None:
            return None
        planes = np.zeros((self.h, self.sets.A.shape[1]))
        planes[:, -1] = 1.0
        planes[used] = answer.planes
        return planes, answer.bound

    def set_l1(self, l1: Array) -> None:
        """Change the price of each column's |v_c|."""
        self.sets = self.sets._replace(l1=l1)
        if self.near is not None:
            self.near.set_l1(l1)

    def begin_near(self, planes: Array, step: float = 0.0) -> None:
        """Expect the next answer near these hyperplanes."""
        if self.near is not None:
            self.near.begin_near(planes, step)


class ColdPrimal:
    """Any backend that takes an LP: the primal, built and solved afresh for each assignment."""

    def __init__(self, sets: PointSets, h: int, backend: Backend) -> None:
        self.sets, self.h, self.backend = sets, h, backend

    def solve(self, assignment: Positions, run: Run) -> tuple[Array, float] | None:
        """The planes and the bound that the backend reports."""
        everything = np.ones(len(self.sets.A), np.bool_), np.ones(len(self.sets.B), np.bool_)
        origin = np.zeros((self.h, self.sets.A.shape[1]))
        program = descent_lp(self.sets, origin, assignment, *everything, box=np.inf)
        answer = self.backend.solve(program, run.inner())
        if answer.status is not Status.OPTIMAL or answer.x is None or answer.objective is None:
            return None
        bound = answer.bound if answer.bound is not None else answer.objective
        return program.split(answer.x)["step"], float(bound)

    def set_l1(self, l1: Array) -> None:
        """Change the price of each column's |v_c|."""
        self.sets = self.sets._replace(l1=l1)

    def begin_near(self, planes: Array, step: float = 0.0) -> None:
        """Nothing to do: every LP begins anew."""


def assignment_lp(sets: PointSets, h: int, lp: str, backend: Backend | None = None) -> AssignmentLP:
    """Who solves the LPs: the backend if one is given, else "highs" (warm dual simplex), "interior-point" or "auto" (by size)."""
    if backend is not None:
        return ColdPrimal(sets, h, backend)
    if lp == "auto":
        lp = "highs" if (len(sets.A) + len(sets.B)) * h <= WARM_SIMPLEX_COLUMNS else "interior-point"
    return WarmDual(sets, h) if lp == "highs" else InteriorPoint(sets, h)
