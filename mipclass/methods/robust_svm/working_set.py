"""Follow the path on the points near a level, then check all the others at every breakpoint at once.

Most points stay far from the levels 1 and s for many steps. The path is followed on a working set (the active set and the
points nearest to a level) and the margins of all points at the new breakpoints are then computed in one matrix product.
Breakpoints up to the first one at which an outside point has crossed its level are kept; the rest is done again with a
larger set. So every breakpoint that is kept satisfies the conditions for all points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from .kernels import path_objective
from .kernels.operators import PathChanges
from .kernels.partition import LEFT, OUT, RIGHT
from .solution_path import Memory, OutlierPath, Step, change_matrices, difference, starts
from .state import OutlierState, SavedSolution

SMALLEST = (
    256  # points of a working set besides those that its size adds; below it the restriction costs more than it saves
)
AT_LEVEL = 1e-7  # points this near to a level are all in the working set: a step of no length can bring them there


@dataclass(frozen=True)
class Checkpoint:
    """The solution of the restricted state after `steps` breakpoints of the batch, to which it can be restored."""

    steps: int
    saved: SavedSolution
    p: Array
    theta: float
    s: float


class Batch:
    """A restricted state, the breakpoints it passes, and the way back into the full state."""

    def __init__(self, full: OutlierState, size: int, next_out: int = 0) -> None:
        """Take `size` points into the working set, among them the `next_out` inliers nearest to the cut-off."""
        self.full = full
        n = len(full.a)
        gap = distance_to_level(full)
        gap[full.A] = -1.0
        if 0 < next_out < size < n:
            margins = np.where(full.state == LEFT, full.m, np.inf)
            gap[np.argpartition(margins, next_out)[:next_out]] = -1.0
        if size < n:
            self.names = np.sort(np.argpartition(gap, size)[: max(size, int((gap <= AT_LEVEL).sum()))]).astype(np.int64)
        else:
            self.names = np.arange(n)
        self.part = full.restrict(self.names)
        self.outside = np.ones(n, dtype=bool)
        self.outside[self.names] = False
        left = self.outside & (full.state == LEFT)
        #: no outside point reaches the cut-off while it stays below this and margins stand still
        self.frontier = float(full.m[left].min(initial=np.inf))
        self.steps: list[Step] = []
        part = self.part
        self.memory = Memory.of(part.a, part.out_level, part.outliers, part.state)
        self.checkpoints: list[Checkpoint] = []
        self.checkpoint()

    def record(self, event: str, point: int) -> None:
        """Note the restricted state's present solution as a breakpoint."""
        part = self.part
        place = int(self.names[point]) if point >= 0 else -1
        now = Memory.of(part.a, part.out_level, part.outliers, part.state)
        self.steps.append(
            difference(self.memory, now, self.names, theta=part.theta, s=part.s, event=event, point=place)
        )
        self.memory = now

    def checkpoint(self) -> None:
        """Keep the present solution, to which `commit` can go back."""
        part = self.part
        self.checkpoints.append(Checkpoint(len(self.steps), part.copy_solution(), part.p.copy(), part.theta, part.s))

    def commit(self, path: OutlierPath) -> int:
        """Check the batch, add what holds to `path` and move the full state there; returns the breakpoints dropped."""
        last = self.checkpoints[-1]
        made = last.steps
        if made == 0:
            self._adopt(last, self.full.m.copy())
            return 0
        steps = self.steps[:made]
        margins = margins_after(self.full, steps)
        good = self._good_rows(steps, margins)
        while last.steps > good:
            self.checkpoints.pop()
            last = self.checkpoints[-1]
        steps = steps[: last.steps]
        found = objectives(self.full, steps, margins[: len(steps)]) if steps else []
        for step, objective in zip(steps, found, strict=True):
            path.add(step, objective)
        self._adopt(last, margins[last.steps - 1].copy() if last.steps else self.full.m.copy())
        return made - last.steps

    def _good_rows(self, steps: list[Step], margins: Array) -> int:
        """Number of leading breakpoints at which every outside point keeps its state."""
        full, outside = self.full, self.outside
        q = np.array([step.s for step in steps])[:, None]
        wrong = np.zeros(len(steps), dtype=bool)
        right = np.flatnonzero(outside & (full.state == RIGHT))
        left = np.flatnonzero(outside & (full.state == LEFT))
        out = np.flatnonzero(outside & (full.state == OUT))
        wrong |= (margins[:, right] < full.p[right]).any(axis=1)
        m = margins[:, left]
        wrong |= (m > full.p[left]).any(axis=1) | (m < q).any(axis=1)
        wrong |= (margins[:, out] > q).any(axis=1)
        return int(np.argmax(wrong)) if wrong.any() else len(steps)

    def _adopt(self, last: Checkpoint, margins: Array) -> None:
        """Move the full state to a checkpoint; `margins` are those of the points outside."""
        part = self.part
        is_last = last is not self.checkpoints[0] and last.steps == len(self.steps)
        if not (is_last and self._is_present(last)):
            part.restore_solution(last.saved)
        part.p[:] = last.p
        part.set_theta(last.theta)
        part.s = last.s
        self.full.adopt(part, self.names, margins)

    def _is_present(self, last: Checkpoint) -> bool:
        """Whether the restricted state still has the active set and the states of the checkpoint."""
        saved, part = last.saved, self.part
        return np.array_equal(saved.active, part.A) and np.array_equal(saved.solution.state, part.state)


def distance_to_level(state: OutlierState) -> Array:
    """How far each margin is from the nearest level at which its point would change its state."""
    m = state.m
    gap = np.abs(m - 1.0)
    left = state.state == LEFT
    gap[left] = np.minimum(gap[left], m[left] - state.s)
    out = state.state == OUT
    gap[out] = state.s - m[out]
    return gap


def margins_after(full: OutlierState, steps: list[Step]) -> Array:
    """(steps, n) margins at the breakpoints that follow the full state."""
    theta = np.array([step.theta for step in steps])[:, None]
    rest, outlier = change_matrices(steps, full.C)
    far = np.flatnonzero(full.outliers)
    changes = PathChanges(rest, outlier, theta, theta - full.theta, far, full.C[far])
    return full.operator.margins_along(full.m, changes)


def objectives(full: OutlierState, steps: list[Step], margins: Array) -> list[float]:
    """The robust SVM's objective at each breakpoint that follows the full state."""
    outlier = full.outliers
    rest = np.where(outlier, full.a - full.out_level, full.a)
    changes = path_objective.StepChanges(
        theta=np.array([step.theta for step in steps]),
        s=np.array([step.s for step in steps]),
        start=starts([step.index for step in steps]),
        which=np.concatenate([step.index for step in steps]),
        change=np.concatenate([step.change for step in steps]),
        toggle_start=starts([step.toggled for step in steps]),
        toggled=np.concatenate([step.toggled for step in steps]),
    )
    found = path_objective.objectives(margins, full.operator.ridge, full.C, rest, outlier, changes)
    return [float(J) for J in found]
