"""Working sets of a kernel: follow the path on the points near a level, then check all the others at every breakpoint at once.

Most points stay far from the levels 1 and s for many steps. The path is followed on a working set (the active set and the
points nearest to a level) and the margins of all points at the new breakpoints are then computed in one matrix product.
Breakpoints up to the first one at which an outside point has crossed its level are kept; the rest is done again with a
larger set. So every breakpoint that is kept satisfies the conditions for all points.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...arrays import Array, Index, Positions
from .batches import Batch
from .jumps import ROOM
from .kernel_rows import KernelRows
from .kernels import path_objective
from .kernels.jump_run import CutOff, JumpHistory, follow_jumps
from .kernels.operators import PathChanges, SignedGram, SignedRows
from .kernels.partition import LEFT, OUT, RIGHT
from .solution_path import OutlierPath
from .state import NO_POINTS, OutlierState
from .steps import Steps

SMALLEST = 256  # points of a working set besides those that its size adds; fewer cost more than they save
FIRST_BATCH, SMALLEST_BATCH, LARGEST_BATCH = 16, 12, 64  # jumps that a batch may make
NEXT_OUT = (
    3  # inliers nearest to the cut-off in a working set, per jump of a batch: about two points change sides in a jump
)
EVENTS_PER_JUMP = 4  # changes of state that a batch along theta may make, per jump
WIDER, NARROWER = 1.25, 0.97  # factors of the slack after a batch most of whose breakpoints, or none, had to be dropped
LARGEST_SLACK = 1e6  # factor of the working set's size, beyond which it contains all points anyhow
MOST_BY_ROWS = (
    0.2  # share of the points besides the active ones in a working set of a kernel whose matrix is not stored
)
NO_PULL = np.zeros(1)  # for batches along s
WHOLE = 0.4  # a working set of more than this share of the points gains nothing: all are taken
# Multiplications between two questions whether to stop. A jump takes this many times k^2 with k active points, for changes of the
# factor and solves, and this many times k n.
CALL_COST, CHANGES_A_JUMP, PRODUCTS_A_JUMP = 200_000_000, 20, 5
# Along both paths outliers lose weight and the margins of the other points grow: points right of the margin, and outliers below a rising
# cut-off, drift away from their levels. Their distance counts this many times (of 1 to 3 the factor that dropped fewest breakpoints: RBF,
# n = 4000, C = 1).
DRIFTS_AWAY = 2.0
AT_LEVEL = 1e-7  # points this near to a level are all in the working set: a step of no length can bring them there


class CheckedBatch(Batch):
    """A batch on the points near a level, whose breakpoints are checked afterwards for all points."""

    def __init__(self, full: OutlierState, size: int, jumps: int, next_out: int = 0, wanted: Index = NO_POINTS) -> None:
        """Take `size` points into the working set, among them the `next_out` inliers nearest to the cut-off and those `wanted`."""
        self.full = full
        n = len(full.a)
        gap = distance_to_level(full)
        gap[(full.state == RIGHT) | (full.state == OUT)] *= DRIFTS_AWAY
        gap[full.A] = gap[wanted] = -1.0
        if 0 < next_out < size < n:
            margins = np.where(full.state == LEFT, full.m, np.inf)
            gap[np.argpartition(margins, next_out)[:next_out]] = -1.0
        size = max(size, int((gap <= AT_LEVEL).sum()))
        self.names = _active_first(full, np.argpartition(gap, size)[:size]) if size < n else np.arange(n)
        super().__init__(full.restrict(self.names))
        self.is_whole = len(self.names) == n
        self.jumps, self.budget = jumps, EVENTS_PER_JUMP * jumps
        #: the points outside that crossed a level at the first breakpoint that does not hold, once the batch is committed
        self.crossed = NO_POINTS
        self.outside = np.ones(n, dtype=bool)
        self.outside[self.names] = False
        left = self.outside & (full.state == LEFT)
        #: no outside point reaches the cut-off while it stays below this and margins stand still
        self.frontier = float(full.m[left].min(initial=np.inf))

    def pull(self) -> Array:
        """Q C [outlier] of the working set at the beginning of the batch."""
        return self.full.operator.restrict_drive(self.full_pull, self.names)

    @cached_property
    def full_pull(self) -> Array:
        """Q C [outlier] of all points at the beginning of the batch."""
        full = self.full
        far = np.flatnonzero(full.outliers)
        return full.operator.drive(far, full.C[far])

    def follow_jumps(self, until: float, most: int) -> int:
        """Make up to `most` jumps in compiled code; returns their number.

        Fewer mean that the cut-off would pass the frontier or `until`, or that the next jump is left to the caller.
        """
        part = self.part
        part.reserve(len(part.A) + ROOM)
        history = JumpHistory.empty(most, len(part.a))
        cut = CutOff(part.s, self.frontier, until, part.shift, part.jitter)
        operator = part.operator
        assert isinstance(operator, SignedGram)
        made = int(follow_jumps(operator, part.solution, part.levels, part.active_set, cut, history, part.look))
        gave_up = made < 0
        made = -1 - made if gave_up else made
        self.record_jumps(history, made)
        part.events += int(history.rounds[0])
        if gave_up:
            part.restore_solution(self.checkpoints[-1].saved)
        part.set_s(self.checkpoints[-1].s)
        return made

    def jumps_a_call(self) -> int:
        """Jumps that take compiled code at most some tenths of a second."""
        k, n = len(self.part.A), len(self.part.a)
        return max(1, CALL_COST // (CHANGES_A_JUMP * k**2 + PRODUCTS_A_JUMP * k * n + n))

    def commit(self, path: OutlierPath) -> int:
        """Check the batch, add what holds to `path` and move the full state there; returns the breakpoints dropped."""
        last = self.checkpoints[-1]
        made = last.steps
        if made == 0:
            self._adopt(self.full.m.copy())
            return 0
        steps = Steps.joined(self.runs[: last.runs]).named(self.names)
        if (
            self.is_whole and made == len(self.checkpoints) - 1
        ):  # every breakpoint has been kept with the margins of all points
            margins = np.array([checkpoint.saved.solution.m for checkpoint in self.checkpoints[1:]])
        else:
            margins = margins_after(self.full, steps, self.full_pull if steps.theta[-1] < self.full.theta else NO_PULL)
        good = made if self.is_whole else self._good_rows(steps, margins)
        if good < made:
            self.crossed = self._crossed(float(steps.s[good]), margins[good], margins[max(0, good - 1)])
        while last.steps > good:
            self.checkpoints.pop()
            last = self.checkpoints[-1]
        if last.steps:
            steps = steps[: last.steps]
            path.add(steps, objectives(self.full, steps, margins[: len(steps)]))
        self._adopt(margins[last.steps - 1].copy() if last.steps else self.full.m.copy())
        return made - last.steps

    def _good_rows(self, steps: Steps, margins: Array) -> int:
        """Number of leading breakpoints at which every outside point keeps its state.

        The solution of a breakpoint must hold until the cut-off reaches that of the next one, so that outside inliers must be above both. The
        frontier ensures this for the solution at the beginning of the batch.
        """
        full, outside = self.full, self.outside
        q = steps.s[:, None]
        wrong = np.zeros(len(steps), dtype=bool)
        right = np.flatnonzero(outside & (full.state == RIGHT))
        left = np.flatnonzero(outside & (full.state == LEFT))
        out = np.flatnonzero(outside & (full.state == OUT))
        wrong |= (margins[:, right] < full.p[right]).any(axis=1)
        m = margins[:, left]
        wrong |= (m > full.p[left]).any(axis=1) | (m < q).any(axis=1)
        wrong[1:] |= (m[:-1] < q[1:]).any(axis=1)
        wrong |= (margins[:, out] > q).any(axis=1)
        return int(np.argmax(wrong)) if wrong.any() else len(steps)

    def _crossed(self, q: float, m: Array, before: Array) -> Index:
        """The points outside whose margins m, or those at the breakpoint before, violate the level of their state, with the cut-off at q."""
        state, p = self.full.state, self.full.p
        right, left = (state == RIGHT) & (m < p), (state == LEFT) & ((m > p) | (np.minimum(m, before) < q))
        return np.flatnonzero(self.outside & (right | left | ((state == OUT) & (m > q))))

    def _adopt(self, margins: Array) -> None:
        """Move the full state to the last checkpoint that is left; `margins` are those of the points outside."""
        self._restore(self.checkpoints[-1])
        self.full.adopt(self.part, self.names, margins)


@dataclass
class CheckedSets:
    """Chooses the working sets of a kernel's path.

    jumps : that the next batch may make.     slack : factor of the working set's size; both adapt.
    wanted : points that crossed a level while they were outside the last working set, which the next one contains.
    restrict : whether the path may be followed on a working set.
    """

    state: OutlierState
    path: OutlierPath
    restrict: bool = True
    jumps: int = FIRST_BATCH
    slack: float = 1.0
    wanted: Index = field(default_factory=NO_POINTS.copy)

    def next(self) -> CheckedBatch:
        """A batch on the next working set."""
        next_out = NEXT_OUT * self.jumps if self.path.parameter == "s" else 0
        return CheckedBatch(self.state, self._size(), self.jumps, next_out, self.wanted)

    def take(self, batch: Batch) -> bool:
        """Add the breakpoints of a batch that hold for all points to the path; whether all of them do."""
        assert isinstance(batch, CheckedBatch)
        dropped = batch.commit(self.path)
        self.wanted = batch.crossed if batch.progressed else np.union1d(self.wanted, batch.crossed)
        if not dropped:
            self.jumps = min(self.jumps + max(1, self.jumps // 4), LARGEST_BATCH)
            self.slack = max(1.0, NARROWER * self.slack)
        elif self.jumps > SMALLEST_BATCH:
            self.jumps = max(SMALLEST_BATCH, min(self.jumps, batch.made - dropped))
        if 2 * dropped > batch.made:  # most of the work was in vain
            self.slack = min(WIDER * self.slack, LARGEST_SLACK)
        return dropped == 0

    def widen(self) -> None:
        """A batch stalled: the next working set is larger."""
        self.slack *= 2.0

    def _size(self) -> int:
        """Points of the next working set: the active ones, and times the slack a tenth of all and some more.

        Where Q is not stored, the slack adds at most a share MOST_BY_ROWS of all; points that crossed a level come on top of them.
        """
        n, k = len(self.state.a), len(self.state.A)
        size = k + int(self.slack * (SMALLEST + 2 * self.jumps + n // 10))
        if isinstance(self.state.operator, KernelRows):
            return min(n, size, k + SMALLEST + int(MOST_BY_ROWS * n))
        return n if size > WHOLE * n or not self.restrict else size


def _active_first(full: OutlierState, chosen: Positions) -> Index:
    """The active points in ascending order, then the other chosen ones in ascending order (see kernels.rows)."""
    others = chosen[full.active_set.position[chosen] < 0]
    return np.concatenate([np.sort(full.A), np.sort(others)]).astype(np.int64)


def distance_to_level(state: OutlierState) -> Array:
    """How far each margin is from the nearest level at which its point would change its state."""
    m = state.m
    gap = np.abs(m - 1.0)
    left = state.state == LEFT
    gap[left] = np.minimum(gap[left], m[left] - state.s)
    out = state.state == OUT
    gap[out] = state.s - m[out]
    return gap


def margins_after(full: OutlierState, steps: Steps, pull: Array) -> Array:
    """(steps, n) margins at the breakpoints that follow the full state; `pull`, Q C [outlier], is used only where theta falls."""
    theta = steps.theta[:, None]
    rest, outlier = steps.changes_of_rest(len(full.C)), steps.changes_of_outliers(full.C)
    changes = PathChanges(rest, outlier, theta, theta - full.theta, pull)
    assert not isinstance(full.operator, SignedRows)
    return full.operator.margins_along(full.m, changes)


def objectives(full: OutlierState, steps: Steps, margins: Array) -> Array:
    """The robust SVM's objective at each breakpoint that follows the full state."""
    outlier = full.outliers
    rest = np.where(outlier, full.a - full.out_level, full.a)
    moved, toggled = steps.moved, steps.toggled
    changes = path_objective.StepChanges(
        steps.theta, steps.s, moved.start, moved.index, moved.value, toggled.start, toggled.index
    )  # fmt: skip
    return path_objective.objectives(margins, full.operator.ridge, full.C, rest, outlier, changes)
