"""Follows the outlier path: continuous steps in theta or s, and a jump wherever a point reaches the cut-off."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...protocol.result import Status
from ...protocol.run import Run
from .ball import BallBatch
from .ball_sets import BallSets
from .jumps import DSolver, by_primal_dual, jump
from .kernels import legs
from .kernels.legs import Log
from .kernels.operators import SignedRows
from .kernels.partition import LEFT
from .solution_path import OutlierPath
from .state import OutlierState, PathCutError, PathOutsideError, PathStalledError
from .working_set import CheckedBatch, CheckedSets

# Changes of state after which margins are recomputed from the multipliers, to end the drift of rounding.
REFRESH_EVERY = 4000
# Changes of state of a whole path: this many per point, and per point of MORE_POINTS. Paths have been seen to take 60.
MOST_EVENTS, MORE_POINTS = 5000, 100
# Batches that end where they began, at the same theta and s: MOST_IDLE and one per POINTS_PER_IDLE points. Only rounding can
# cause more.
MOST_IDLE, POINTS_PER_IDLE = 100, 4


@dataclass
class Tracer:
    """Carries a state along the path, batch by batch, and records the breakpoints.

    sets : chooses the points of each batch; `restrict` says whether it may take fewer than all.
    """

    state: OutlierState
    path: OutlierPath
    run: Run
    change_sides: DSolver
    restrict: bool = True
    sets: BallSets | CheckedSets = field(init=False)
    _refreshed: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        """Choose how working sets are made."""
        kind = BallSets if isinstance(self.state.operator, SignedRows) else CheckedSets
        self.sets = kind(self.state, self.path, self.restrict)

    def trace(self, until: float) -> Status | None:
        """Move the path's parameter to `until`; returns why it stopped early, or None."""
        n = len(self.state.a)
        idle, before = 0, (np.nan, np.nan)
        while True:
            status = self.run.stop()
            if status is not None:
                return status
            batch = self.sets.next()
            finished = False
            try:
                finished = self._advance(batch, until)
            except PathCutError:
                pass  # the batch goes back to its last checkpoint
            except PathOutsideError:
                batch.left_ball = True
            except PathStalledError:
                if batch.is_whole and not batch.progressed:
                    return Status.NUMERICAL_ERROR
                self.sets.widen()
            finished = self.sets.take(batch) and finished
            here, events = (batch.part.theta, batch.part.s), self.state.events
            del batch  # its matrix goes before the next one is made
            self.run.report(
                objective=self.path.last_objective,
                iterations=events,
                theta=here[0],
                s=here[1],
                outliers=self.path.last_outliers,
            )
            if finished:
                self.path.complete = True
                return None
            idle, before = (idle + 1 if here == before else 0), here
            if idle > MOST_IDLE + n // POINTS_PER_IDLE or events > MOST_EVENTS * (n + MORE_POINTS):
                return Status.NUMERICAL_ERROR
            if events - self._refreshed > REFRESH_EVERY:
                self.state.refresh()
                self._refreshed = events

    def _advance(self, batch: BallBatch | CheckedBatch, until: float) -> bool:
        """Follow the path on the points of the batch; true when it reaches `until`."""
        return self._advance_s(batch, until) if self.path.parameter == "s" else self._advance_theta(batch, until)

    def _advance_s(self, batch: BallBatch | CheckedBatch, until: float) -> bool:
        """Raise the cut-off past at most `batch.jumps` jumps; true when it reaches `until`."""
        part = batch.part
        made = 0
        while made < batch.jumps:
            if isinstance(batch, CheckedBatch) and self.change_sides is by_primal_dual:
                most = min(batch.jumps - made, batch.jumps_a_call())
                new = batch.follow_jumps(until, most)
                made += new
                if self.run.stop() is not None:
                    break
                if new == most:
                    continue
            made += 1
            margins = np.where(part.state == LEFT, part.m - part.jitter * part.shift, np.inf)
            j = int(margins.argmin()) if len(margins) else -1
            level = float(margins[j]) if j >= 0 else np.inf
            if level > batch.frontier:
                return False if batch.frontier < until else self._end(batch, until)
            if level >= until:
                return self._end(batch, until)
            part.set_s(max(level, part.s))
            jump(part, j, self.change_sides)
            batch.record("jump", j)
            batch.checkpoint()
            if self.run.stop() is not None:
                break
        return False

    def _end(self, batch: BallBatch | CheckedBatch, until: float) -> bool:
        """Raise the cut-off to `until`, which no point reaches."""
        batch.part.set_s(until)
        batch.record("end", -1)
        batch.checkpoint()
        return True

    def _advance_theta(self, batch: BallBatch | CheckedBatch, until: float) -> bool:
        """Lower theta past at most `batch.budget` events; true when it reaches `until`."""
        part, budget, pull = batch.part, batch.budget, batch.pull()
        counted = part.outliers
        log = Log.empty()
        while budget > 0:
            now = part.outliers
            for j in np.flatnonzero(now != counted):
                pull += (part.C[j] if now[j] else -part.C[j]) * part.operator.matrix[j]
            counted = now
            out = np.flatnonzero(now)
            log.clear()
            code, who, t, log = part.leg(
                legs.CONTINUOUS, 1.0 - until, v_index=out, v=-part.C[out], drive=-pull,
                start=1.0 - part.theta, log=log, budget=budget,
            )  # fmt: skip
            budget -= max(1, int(log.events[0]))
            batch.record_leg(log, pull)
            part.set_theta(until if code == legs.FINISHED else 1.0 - t)
            part.a[out] = part.out_level[out]
            if code == legs.TIED:
                jump(part, who, self.change_sides)
                batch.record("jump", who)
            batch.checkpoint()
            batch.left_ball = code == legs.OUTSIDE
            if code in (legs.FINISHED, legs.OUTSIDE):
                return bool(code == legs.FINISHED)
            if self.run.stop() is not None:
                break
        return False
