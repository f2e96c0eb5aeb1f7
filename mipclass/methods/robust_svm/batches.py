"""A batch: the path followed for a while on some of the points, its breakpoints, and the way back to all points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from .kernels import legs
from .kernels.jump_run import JumpHistory
from .kernels.legs import Log
from .kernels.partition import OUT, TIE_IN, TIE_OUT, DualSolution
from .state import OutlierState, SavedSolution
from .steps import CODES, Memory, Ragged, Steps, difference


@dataclass(frozen=True)
class Checkpoint:
    """The solution of the restricted state after `runs` runs of breakpoints, `steps` in all, to which it can be restored."""

    runs: int
    steps: int
    saved: SavedSolution
    p: Array
    theta: float
    s: float


class Batch:
    """A restricted state and the breakpoints it passes.

    part : the restricted state.     runs : its breakpoints, in the numbering of the part.     made : their number.
    frontier : no point outside reaches the cut-off while that stays below this.
    budget : changes of state that a batch along theta may make.      jumps : jumps that a batch along s may make.
    is_whole : the part has all points.      left_ball : the batch ended because w would leave the part's ball.
    """

    frontier: float = np.inf
    budget: int
    jumps: int
    is_whole: bool
    left_ball: bool = False

    def __init__(self, part: OutlierState) -> None:
        self.part = part
        self.runs: list[Steps] = []
        self.made = 0
        self.memory = Memory.of(part.a, part.out_level, part.outliers, part.state)
        self.checkpoints = [self._present()]

    def record(self, event: str, point: int) -> None:
        """Note the restricted state's present solution as a breakpoint."""
        part = self.part
        now = Memory.of(part.a, part.out_level, part.outliers, part.state)
        self._add(difference(self.memory, now, theta=part.theta, s=part.s, event=event, point=point))
        self.memory = now

    def record_jumps(self, history: JumpHistory, jumps: int) -> None:
        """Note the first `jumps` solutions of the history as breakpoints and as solutions to which `commit` can go back."""
        if not jumps:
            return
        part = self.part
        state, a = history.state[:jumps], history.a[:jumps]
        outlier = (state == OUT) | (state == TIE_OUT)
        rest = np.where(outlier, a - part.out_level, a)
        before, p, way = self.memory, part.p.copy(), part.ball.way.copy()
        self.memory = Memory(rest[-1], outlier[-1], state[-1].copy())
        moved = np.vstack([before.rest, rest])
        sides, states = np.vstack([before.outlier, outlier]), np.vstack([before.state, state])
        self._add(
            Steps(
                np.full(jumps, part.theta),
                history.s[:jumps],
                np.full(jumps, CODES["jump"], dtype=np.int8),
                history.point[:jumps].astype(np.int32),
                Ragged.of_rows(moved[1:] != moved[:-1], np.diff(moved, axis=0)),
                Ragged.of_rows(sides[1:] != sides[:-1], outlier),
                Ragged.of_rows(states[1:] != states[:-1], state),
            )
        )
        first = self.made - jumps + 1
        for e in range(jumps):
            solution = DualSolution(a[e], history.m[e], state[e])
            saved = SavedSolution(solution, history.active[e, : history.size[e]], way)
            self.checkpoints.append(Checkpoint(len(self.runs), first + e, saved, p, part.theta, float(history.s[e])))

    def record_leg(self, log: Log, pull: Array) -> None:
        """Note the kept events of a leg along theta, driven by -pull, as breakpoints."""
        count = int(log.events[0])
        if not count:
            return
        who, to = log.marks[legs.POINT, :count], log.marks[legs.STATE, :count]
        kept = np.flatnonzero(log.marks[legs.KEPT, :count])
        ties = to[kept] >= TIE_IN
        event = np.where(who[kept] < 0, CODES["end"], np.where(ties, CODES["tie"], to[kept])).astype(np.int8)
        entries = int(log.entries[0])
        start = np.append(log.marks[legs.START, kept], entries).astype(np.int32)
        which, change = log.which[:entries].astype(np.int32), log.change[:entries].copy()
        np.add.at(self.memory.rest, which, change)
        restated = np.flatnonzero((who >= 0) & (to < TIE_IN))
        states = to[restated].astype(np.int8)
        self.memory.state[who[restated]] = states
        ends = np.append(0, np.searchsorted(restated, kept, side="right")).astype(np.int32)
        none = Ragged(np.zeros(len(kept) + 1, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty(0, dtype=bool))
        self._add(
            Steps(
                np.maximum(0.0, 1.0 - log.t[kept]),
                np.full(len(kept), self.part.s),
                event,
                who[kept].astype(np.int32),
                Ragged(start, which, change),
                none,
                Ragged(ends, who[restated].astype(np.int32), states),
            )
        )

    def _add(self, run: Steps) -> None:
        self.runs.append(run)
        self.made += len(run)

    def checkpoint(self) -> None:
        """Keep the present solution, to which `commit` can go back."""
        self.checkpoints.append(self._present())

    @property
    def progressed(self) -> bool:
        """Whether a breakpoint has been made that can be kept."""
        return self.checkpoints[-1].steps > 0

    def _present(self) -> Checkpoint:
        part = self.part
        return Checkpoint(len(self.runs), self.made, part.copy_solution(), part.p.copy(), part.theta, part.s)

    def _restore(self, last: Checkpoint) -> None:
        """Move the restricted state to a checkpoint, unless it is there."""
        part = self.part
        if self.made != last.steps or not self._is_present(last):
            part.restore_solution(last.saved)
        part.p[:] = last.p
        part.set_theta(last.theta)
        part.s = last.s

    def _is_present(self, last: Checkpoint) -> bool:
        """Whether the restricted state still has the active set and the states of the checkpoint."""
        saved, part = last.saved, self.part
        return np.array_equal(saved.active, part.A) and np.array_equal(saved.solution.state, part.state)
