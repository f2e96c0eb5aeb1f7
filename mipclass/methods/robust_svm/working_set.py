"""Follow the path on the points near a level, then check all the others at every breakpoint at once.

Most points stay far from the levels 1 and s for many steps. The path is followed on a working set (the active set and the
points nearest to a level) and the margins of all points at the new breakpoints are then computed in one matrix product.
Breakpoints up to the first one at which an outside point has crossed its level are kept; the rest is done again with a
larger set. So every breakpoint that is kept satisfies the conditions for all points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...arrays import Array, Index
from .kernels import homotopy as kernel
from .kernels import path_objective
from .solution_path import Memory, OutlierPath, Step, difference
from .state import OutlierState

SMALLEST = 256


@dataclass(frozen=True)
class Checkpoint:
    """A solution of the restricted state to which one can go back: after `steps` breakpoints of the batch."""

    steps: int
    solution: tuple[Array, Array, NDArray[np.int8], Index]
    p: Array
    theta: float
    s: float


class Batch:
    """A restricted state, the breakpoints it passes, and the way back into the full state."""

    def __init__(self, full: OutlierState, size: int, next_out: int = 0) -> None:
        """`size` points, among them the `next_out` inliers nearest to the cut-off."""
        self.full = full
        n = len(full.a)
        gap = distance_to_level(full)
        gap[full.A] = -1.0
        if 0 < next_out < size < n:
            margins = np.where(full.state == kernel.LEFT, full.m, np.inf)
            gap[np.argpartition(margins, next_out)[:next_out]] = -1.0
        if size < n:
            self.names = np.sort(np.argpartition(gap, size)[: max(size, int((gap <= 1e-7).sum()))]).astype(np.int64)
        else:
            self.names = np.arange(n)
        self.part = full.restrict(self.names)
        self.outside = np.ones(n, dtype=bool)
        self.outside[self.names] = False
        left = self.outside & (full.state == kernel.LEFT)
        #: no outside point reaches the cut-off while it stays below this and margins stand still
        self.frontier = float(full.m[left].min(initial=np.inf))
        self.steps: list[Step] = []
        part = self.part
        outlier = part.outliers
        self.memory = Memory(np.where(outlier, part.a - part.out_level, part.a), outlier, part.state.copy())
        self.checkpoints: list[Checkpoint] = []
        self.checkpoint()

    def record(self, event: str, point: int) -> None:
        """Note the restricted state's present solution as a breakpoint."""
        part = self.part
        step, self.memory = difference(
            part.a, part.out_level, part.outliers, part.state, self.memory, self.names,
            theta=part.theta, s=part.s, event=event, point=int(self.names[point]) if point >= 0 else -1,
        )  # fmt: skip
        self.steps.append(step)

    def checkpoint(self) -> None:
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
        right = np.flatnonzero(outside & (full.state == kernel.RIGHT))
        left = np.flatnonzero(outside & (full.state == kernel.LEFT))
        out = np.flatnonzero(outside & (full.state == kernel.OUT))
        wrong |= (margins[:, right] < full.p[right]).any(axis=1)
        m = margins[:, left]
        wrong |= (m > full.p[left]).any(axis=1) | (m < q).any(axis=1)
        wrong |= (margins[:, out] > q).any(axis=1)
        return int(np.argmax(wrong)) if wrong.any() else len(steps)

    def _adopt(self, last: Checkpoint, margins: Array) -> None:
        part = self.part
        if last is not self.checkpoints[0] and last.steps == len(self.steps) and self._is_present(last):
            pass
        else:
            part.restore_solution(last.solution)
        part.p[:] = last.p
        part.set_theta(last.theta)
        part.s = last.s
        self.full.adopt(part, self.names, margins)

    def _is_present(self, last: Checkpoint) -> bool:
        return np.array_equal(last.solution[3], self.part.A) and np.array_equal(last.solution[2], self.part.state)


def distance_to_level(state: OutlierState) -> Array:
    """How far each margin is from the nearest level at which its point would change its state."""
    m = state.m
    gap = np.abs(m - 1.0)
    left = state.state == kernel.LEFT
    gap[left] = np.minimum(gap[left], m[left] - state.s)
    out = state.state == kernel.OUT
    gap[out] = state.s - m[out]
    return gap


def margins_after(full: OutlierState, steps: list[Step]) -> Array:
    """(steps, n) margins at the breakpoints that follow the full state."""
    n = len(full.a)
    theta = np.array([step.theta for step in steps])[:, None]

    def changes(columns: list[Index], data: list[Array]) -> sp.csr_array:
        start = np.concatenate([[0], np.cumsum([len(c) for c in columns])])
        return sp.csr_array((np.concatenate(data), np.concatenate(columns), start), shape=(len(steps), n))

    rest = changes([step.index for step in steps], [step.change for step in steps])
    toggles = [np.where(step.became_outlier, 1.0, -1.0) * full.C[step.toggled] for step in steps]
    outlier = changes([step.toggled for step in steps], toggles)
    moved = theta - full.theta
    if full.linear:
        before = full.outliers
        dw = np.cumsum(rest @ full.Z, axis=0) + theta * np.cumsum(outlier @ full.Z, axis=0)
        if moved.any():
            dw += moved * (full.Z[before].T @ full.C[before])
        return np.asarray(full.m + dw @ full.Z.T)
    touched = np.unique(np.concatenate([rest.indices, outlier.indices]))
    weights = np.cumsum(rest[:, touched].toarray(), axis=0) + theta * np.cumsum(outlier[:, touched].toarray(), axis=0)
    margins = weights @ full.Z[touched]
    margins += full.m
    if moved.any():
        margins += moved * full.pull()
    return np.asarray(margins)


def objectives(full: OutlierState, steps: list[Step], margins: Array) -> list[float]:
    """The robust SVM's objective at each breakpoint that follows the full state."""
    outlier = full.outliers
    rest = np.where(outlier, full.a - full.out_level, full.a)
    theta, s = np.array([step.theta for step in steps]), np.array([step.s for step in steps])
    start = np.concatenate([[0], np.cumsum([len(step.index) for step in steps])])
    toggle_start = np.concatenate([[0], np.cumsum([len(step.toggled) for step in steps])])
    index = np.concatenate([step.index for step in steps])
    change = np.concatenate([step.change for step in steps])
    toggled = np.concatenate([step.toggled for step in steps])
    found = path_objective.objectives(
        margins, full.ridge, full.C, theta, s, rest, outlier, start, index, change, toggle_start, toggled
    )
    return [float(J) for J in found]
