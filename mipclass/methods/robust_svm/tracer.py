"""Follows the outlier path: continuous steps in theta or s, and a jump wherever a point reaches the cut-off."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...protocol.result import Status
from ...protocol.run import Run
from .jumps import DSolver, jump
from .kernels import legs
from .kernels.legs import Log
from .kernels.partition import LEFT, TIE_IN
from .solution_path import STATES, OutlierPath, Step
from .state import OutlierState, PathCutError, PathStalledError
from .working_set import SMALLEST, Batch

REFRESH_EVERY = (
    4000  # changes of state after which margins are recomputed from the multipliers, to end the drift of rounding
)
# Changes of state of a whole path: this many per point, and per point of MORE_POINTS. Paths have been seen to take 60.
MOST_EVENTS, MORE_POINTS = 5000, 100
# Batches that end where they began, at the same theta and s: MOST_IDLE and one per POINTS_PER_IDLE points. Only rounding can
# cause more.
MOST_IDLE, POINTS_PER_IDLE = 100, 4
FIRST_BATCH, SMALLEST_BATCH, LARGEST_BATCH = 16, 4, 64  # jumps that a batch may make
EVENTS_PER_JUMP = 4  # changes of state that a batch along theta may make, per jump
LARGEST_SLACK = 1e6  # factor of the working set's size, beyond which it contains all points anyhow
WHOLE = 0.6  # a working set of more than this share of the points gains nothing: all are taken


@dataclass
class Tracer:
    """Carries a state along the path, batch by batch, and records the breakpoints.

    batch : jumps that the next batch may make.     slack : factor of the working set's size; both adapt.
    restrict : whether the path may be followed on a working set.
    """

    state: OutlierState
    path: OutlierPath
    run: Run
    change_sides: DSolver
    batch: int = FIRST_BATCH
    slack: float = 1.0
    restrict: bool = True
    _refreshed: int = field(default=0, repr=False)

    def trace(self, until: float) -> Status | None:
        """Move the path's parameter to `until`; returns why it stopped early, or None."""
        advance = self._advance_s if self.path.parameter == "s" else self._advance_theta
        n = len(self.state.a)
        idle, before = 0, (np.nan, np.nan)
        while True:
            status = self.run.stop()
            if status is not None:
                return status
            batch = Batch(self.state, self._size(), 2 * self.batch if self.path.parameter == "s" else 0)
            try:
                finished = advance(batch, until)
            except PathCutError:
                finished = False
            except PathStalledError:
                if len(batch.names) == len(self.state.a) and len(batch.checkpoints) == 1:
                    return Status.NUMERICAL_ERROR
                finished = False
                self.slack *= 2.0
            dropped = batch.commit(self.path)
            self._adapt(dropped, len(batch.steps))
            state = self.state
            self.run.report(
                objective=self.path.objective[-1],
                iterations=state.events,
                theta=state.theta,
                s=state.s,
                outliers=int(state.outliers.sum()),
            )
            if finished and dropped == 0:
                self.path.complete = True
                return None
            here = (state.theta, state.s)
            idle, before = (idle + 1 if here == before else 0), here
            if idle > MOST_IDLE + n // POINTS_PER_IDLE or state.events > MOST_EVENTS * (n + MORE_POINTS):
                return Status.NUMERICAL_ERROR
            if state.events - self._refreshed > REFRESH_EVERY:
                state.refresh()
                self._refreshed = state.events

    def _size(self) -> int:
        """Points of the next working set: the active ones, a tenth of all and some more, times the slack."""
        n, k = len(self.state.a), len(self.state.A)
        if not self.restrict or (self.path.parameter == "s" and self.state.operator.is_compressed):
            return n  # jumps move the rule far, and all margins cost little when rows are sparse
        size = int(self.slack * (SMALLEST + k + 2 * self.batch + n // 10))
        return n if size > WHOLE * n else size

    def _adapt(self, dropped: int, made: int) -> None:
        """Longer batches while all breakpoints hold; shorter ones, or more points, when `dropped` of `made` did not."""
        if not dropped:
            self.batch = min(self.batch + max(1, self.batch // 4), LARGEST_BATCH)
        elif self.batch > SMALLEST_BATCH:
            self.batch = max(SMALLEST_BATCH, self.batch // 2)
        else:
            self.slack = min(1.25 * self.slack, LARGEST_SLACK)
        if 2 * dropped > made:  # most of the work was in vain: more points at once rather than fewer breakpoints
            self.slack = min(2.0 * self.slack, LARGEST_SLACK)

    def _advance_s(self, batch: Batch, until: float) -> bool:
        """Raise the cut-off past at most `self.batch` jumps; true when it reaches `until`."""
        part = batch.part
        for _ in range(self.batch):
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

    def _end(self, batch: Batch, until: float) -> bool:
        """Raise the cut-off to `until`, which no point reaches."""
        batch.part.set_s(until)
        batch.record("end", -1)
        batch.checkpoint()
        return True

    def _advance_theta(self, batch: Batch, until: float) -> bool:
        """Lower theta past at most EVENTS_PER_JUMP `self.batch` events; true when it reaches `until`."""
        part, full = batch.part, self.state
        budget = EVENTS_PER_JUMP * self.batch
        far = np.flatnonzero(full.outliers)
        pull = full.operator.restrict_drive(full.operator.drive(far, full.C[far]), batch.names)
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
            self._record_leg(batch, log)
            part.set_theta(until if code == legs.FINISHED else 1.0 - t)
            part.a[out] = part.out_level[out]
            if code == legs.FINISHED:
                batch.checkpoint()
                return True
            if code == legs.TIED:
                jump(part, who, self.change_sides)
                batch.record("jump", who)
            batch.checkpoint()
            if self.run.stop() is not None:
                break
        return False

    def _record_leg(self, batch: Batch, log: Log) -> None:
        """Turn the kept events of a continuous leg into breakpoints."""
        names, nothing, none = batch.names, np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
        s, rest, state = batch.part.s, batch.memory.rest, batch.memory.state
        restated: dict[int, int] = {}
        for e in range(int(log.events[0])):
            who, to = int(log.point[e]), int(log.state[e])
            if who >= 0 and to < TIE_IN:
                restated[who] = state[who] = to
            if not log.kept[e]:
                continue
            entries = slice(int(log.start[e]), int(log.start[e + 1]))
            which, change = log.which[entries], log.change[entries].copy()
            rest[which] += change
            theta = max(0.0, 1.0 - float(log.t[e]))
            event = "end" if who < 0 else ("tie" if to >= TIE_IN else STATES[to])
            point = int(names[who]) if who >= 0 else -1
            points, states = names[list(restated)], np.array(list(restated.values()), dtype=np.int8)
            batch.steps.append(Step(theta, s, event, point, names[which], change, nothing, none, points, states))
            restated = {}
