"""Working sets of a linear rule that need no check: while w stays in a ball, no point outside can reach a level.

A margin moves by at most |Z_i| |w' - w|. The working set takes all points whose slack (see kernels/nearness) is at most the radius
of a ball around w, so that every breakpoint that is found with w inside the ball holds for all points, however many they
are; a step that would leave the ball ends the batch. The legs use the same idea once more among the points of the working set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array, Index
from .batches import Batch
from .kernels.legs import Log
from .kernels.nearness import CUSHION, FEWEST, slacks, totals
from .kernels.operators import SignedRows
from .kernels.partition import LEFT
from .state import OutlierState
from .steps import Steps

SHIFTS = 100.0  # a level counts as near within so many times the random shifts of the levels, if these have grown
EVENTS_PER_JUMP = 4  # changes of state that a batch along theta may make, per jump
FIRST_LISTED = 200  # inactive points of the first list that legs make
ROUNDED = 1.0 - 1e-9  # share of the radius that is used: the way of w is a sum of many steps


@dataclass(frozen=True)
class Surroundings:
    """What the points outside a working set add to the objective, and to the drive of theta, while they keep their states.

    w : that of the rule.   left_loss, left_pull : sums of C_i (1 - m_i) and of C_i Z_i over the points left of the margin.
    out_weight, out_margin, out_pull : sums of C_i, C_i m_i and C_i Z_i over the outliers.
    """

    w: Array
    left_loss: float
    left_pull: Array
    out_weight: float
    out_margin: float
    out_pull: Array

    @classmethod
    def none(cls, w: Array) -> Surroundings:
        """No point is outside."""
        return cls(w, 0.0, np.zeros(len(w)), 0.0, 0.0, np.zeros(len(w)))

    def with_points(self, state: OutlierState, names: Index) -> Surroundings:
        """The same with the points of `state` that are not in `names` added."""
        inside = np.zeros(len(state.a), dtype=bool)
        inside[names] = True
        left, out = self.left_pull.copy(), self.out_pull.copy()
        loss, weight, margin = totals(state.operator.matrix, state.C, state.solution, inside, left, out)
        return Surroundings(
            self.w, self.left_loss + loss, left, self.out_weight + weight, self.out_margin + margin, out
        )

    def objective(self, part: OutlierState) -> float:
        """The objective where w has moved by part.ball.way since the surroundings were summed up."""
        way, theta, s = part.ball.way, part.theta, part.s
        w = self.w + way
        inside = np.where(part.m >= s, np.maximum(1.0 - part.m, 0.0), (1.0 - s) + theta * (s - part.m))
        left = self.left_loss - self.left_pull @ way
        out = (1.0 - s + theta * s) * self.out_weight - theta * (self.out_margin + self.out_pull @ way)
        return float(0.5 * (w @ w) + part.C @ inside + left + out)


class BallBatch(Batch):
    """A batch on the points near a level, in the ball around w in which no other point reaches one.

    surroundings : of the points that are not in the working set.
    """

    def __init__(self, full: OutlierState, size: int, jumps: int, rises: int) -> None:
        """Take the `size` points with the least slack. The cut-off may rise past so many inliers."""
        operator = full.operator
        assert isinstance(operator, SignedRows)
        rise = _rise(full, rises)
        cushion = max(CUSHION, SHIFTS * full.jitter)
        n, radius = len(full.a), 0.0
        slack = np.zeros(n)  # for points of which no list is made
        if n >= FEWEST:
            slack = slacks(full.solution, full.levels, full.active_set.position, operator.root, rise, cushion)
            radius = float(np.partition(slack, size)[size]) if size < n else 0.0
        self.is_whole = radius <= 0.0  # or too many points are at a level
        self.full = full
        self.names = np.arange(n) if self.is_whole else np.flatnonzero(slack < radius)
        self.frontier = np.inf if self.is_whole or not rises else full.s + rise
        around = Surroundings.none(operator.matrix.T @ full.a)
        self.surroundings = around if self.is_whole else around.with_points(full, self.names)
        super().__init__(full.restrict(self.names))
        part = self.part
        part.ball.radius[0] = np.inf if self.is_whole else ROUNDED * radius
        part.ball.look[0] = _first_look(slack[self.names])
        self.jumps, self.budget = jumps, EVENTS_PER_JUMP * jumps
        self.objectives: list[Array] = []
        self._objective = self.surroundings.objective(part) if np.isfinite(part.s) else np.nan

    def pull(self) -> Array:
        """sum C_i Z_i over all outliers."""
        part = self.part
        out = part.outliers
        return np.asarray(self.surroundings.out_pull + part.operator.matrix[out].T @ part.C[out])

    def record(self, event: str, point: int) -> None:
        """Note the present solution as a breakpoint."""
        super().record(event, point)
        self._objective = self.surroundings.objective(self.part)
        self.objectives.append(np.array([self._objective]))

    def record_leg(self, log: Log, pull: Array) -> None:
        """Note the kept events of a leg along theta as breakpoints.

        By the envelope theorem the objective's derivative in theta is sum C_i (s - m_i) over the outliers, which is linear in
        theta between two breakpoints: the trapezoidal rule is exact.
        """
        before = self.made
        super().record_leg(log, pull)
        if self.made == before:
            return
        part, run = self.part, self.runs[-1]
        theta = np.append(part.theta, run.theta)
        turned = np.append(0.0, np.cumsum((part.operator.matrix[run.moved.index] @ pull) * run.moved.value))
        along = np.append(0.0, turned[run.moved.start[1:]]) + (theta - theta[0]) * (pull @ pull)
        along += (self.surroundings.w + part.ball.way) @ pull - along[-1]  # pull.w, which is sum C_i m_i
        weight = self.surroundings.out_weight + float(part.C @ part.outliers)
        slope = part.s * weight - along
        found = self._objective + np.cumsum(0.5 * (slope[1:] + slope[:-1]) * np.diff(theta))
        self._objective = float(found[-1])
        self.objectives.append(found)

    def checkpoint(self) -> None:
        """Keep the present solution; there is never a reason to go back farther."""
        self.checkpoints = [self._present()]

    def commit(self) -> tuple[Steps, Array] | None:
        """Go back to the last checkpoint and move the full state there; the breakpoints, if any, and their objectives."""
        last = self.checkpoints[0]
        self._restore(last)
        way, full = self.part.ball.way, self.full
        full.adopt(self.part, self.names, full.m + full.operator.matrix @ way)
        if not last.steps:
            return None
        return Steps.joined(self.runs[: last.runs]).named(self.names), np.concatenate(self.objectives[: last.runs])


def _first_look(slack: Array) -> float:
    """The radius of the first list of a leg, which has FIRST_LISTED inactive points; infinite, for no list, where there are fewer.

    Active points, whose slack is -1, are on every list and do not count: with more of them than FIRST_LISTED they would make the radius -1.
    """
    inactive = slack[slack >= 0.0]
    return float(np.partition(inactive, FIRST_LISTED)[FIRST_LISTED]) if len(inactive) > FIRST_LISTED else np.inf


def _rise(full: OutlierState, rises: int) -> float:
    """How far the cut-off has to rise to pass so many inliers."""
    if not rises:
        return 0.0
    margins = full.m[full.state == LEFT]
    if len(margins) <= rises:
        return float(margins.max(initial=full.s)) - full.s
    return max(0.0, float(np.partition(margins, rises)[rises]) - full.s)
