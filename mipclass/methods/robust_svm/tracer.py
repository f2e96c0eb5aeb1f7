"""Follows the outlier path: continuous steps in theta or s, and a jump wherever a point reaches the cut-off."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...protocol.result import Status
from ...protocol.run import Run
from .jumps import DSolver, jump
from .kernels import homotopy as kernel
from .solution_path import OutlierPath, Step
from .state import Log, OutlierState, PathStalledError
from .working_set import SMALLEST, Batch

REFRESH_EVERY = 4000  # events after which margins are recomputed from the multipliers
MOST_EVENTS = 5000  # for each point and a hundred more; paths have been seen to take 60
STANDS = 100  # batches at one value of the parameter, and one more for every fourth point, that only rounding can cause


@dataclass
class Tracer:
    """Carries a state along the path, batch by batch, and records the breakpoints."""

    state: OutlierState
    path: OutlierPath
    run: Run
    change_sides: DSolver
    batch: int = 16
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
            if idle > STANDS + n // 4 or state.events > MOST_EVENTS * (n + 100):
                return Status.NUMERICAL_ERROR
            if state.events - self._refreshed > REFRESH_EVERY:
                state.refresh()
                self._refreshed = state.events

    def _size(self) -> int:
        n, k = len(self.state.a), len(self.state.A)
        if not self.restrict or (self.path.parameter == "s" and len(self.state.rows[0])):
            return n  # jumps move the rule far, and all margins cost little when rows are sparse
        size = int(self.slack * (SMALLEST + k + 2 * self.batch + n // 10))
        return n if size > 0.6 * n else size

    def _adapt(self, dropped: int, made: int) -> None:
        if not dropped:
            self.batch = min(self.batch + max(1, self.batch // 4), 64)
        elif self.batch > 4:
            self.batch = max(4, self.batch // 2)
        else:
            self.slack = min(1.25 * self.slack, 1e6)
        if 2 * dropped > made:  # most of the work was in vain: more points at once rather than fewer breakpoints
            self.slack = min(2.0 * self.slack, 1e6)

    def _advance_s(self, batch: Batch, until: float) -> bool:
        """Raise the cut-off past at most `self.batch` jumps; true when it reaches `until`."""
        part = batch.part
        for _ in range(self.batch):
            margins = np.where(part.state == kernel.LEFT, part.m - part.jitter * part.shift, np.inf)
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
        batch.part.set_s(until)
        batch.record("end", -1)
        batch.checkpoint()
        return True

    def _advance_theta(self, batch: Batch, until: float) -> bool:
        """Lower theta past at most 4 `self.batch` events; true when it reaches `until`."""
        part = batch.part
        budget = 4 * self.batch
        pull = np.zeros(len(part.a)) if part.linear else self.state.pull()[batch.names]
        far = self.state.outliers
        pull_w = self.state.Z[far].T @ self.state.C[far] if part.linear else np.empty(len(part.a))
        counted = part.outliers
        log = Log()
        while budget > 0:
            now = part.outliers
            for j in np.flatnonzero(now != counted):
                weight = part.C[j] if now[j] else -part.C[j]
                if part.linear:
                    pull_w += weight * part.Z[j]
                else:
                    pull += weight * part.Z[j]
            counted = now
            out = np.flatnonzero(now)
            log.clear()
            code, who, t = part.leg(
                kernel.CONTINUOUS, 1.0 - until, v_index=out, v=-part.C[out], product=(-pull_w, -pull),
                clock=1.0 - part.theta, log=log, budget=budget,
            )  # fmt: skip
            budget -= max(1, int(log.count[0]))
            self._record_leg(batch, log)
            part.set_theta(until if code == kernel.FINISHED else 1.0 - t)
            part.a[out] = part.out_level[out]
            if code == kernel.FINISHED:
                batch.checkpoint()
                return True
            if code == kernel.TIED:
                jump(part, who, self.change_sides)
                batch.record("jump", who)
            batch.checkpoint()
            if self.run.stop() is not None:
                break
        return False

    def _record_leg(self, batch: Batch, log: Log) -> None:
        """Turn the events of a continuous leg that are kept into breakpoints."""
        names, nothing, none = batch.names, np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
        s, rest, state = batch.part.s, batch.memory.rest, batch.memory.state
        restated: dict[int, int] = {}
        for e in range(int(log.count[0])):
            who, to = int(log.index[e]), int(log.state[e])
            if who >= 0 and to < kernel.TIE_IN:
                restated[who] = state[who] = to
            if not log.kept[e]:
                continue
            entries = slice(int(log.start[e]), int(log.start[e + 1]))
            which, change = log.which[entries], log.change[entries].copy()
            rest[which] += change
            theta = max(0.0, 1.0 - float(log.t[e]))
            event = "end" if who < 0 else ("tie" if to >= kernel.TIE_IN else "RELO"[to])
            point = int(names[who]) if who >= 0 else -1
            points, states = names[list(restated)], np.array(list(restated.values()), dtype=np.int8)
            batch.steps.append(Step(theta, s, event, point, names[which], change, nothing, none, points, states))
            restated = {}
