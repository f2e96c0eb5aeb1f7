"""Legs of a linear rule with few points: packs a state into the arrays of kernels/few_points and takes the outcome back."""

from __future__ import annotations

import numpy as np

from .kernels import few_points as kernel
from .kernels.active_set import ActiveSet
from .kernels.legs import CONTINUOUS, STALLED, TIED, Ball, Clock, Leg, Log
from .kernels.operators import SignedRows
from .kernels.partition import DualSolution, Levels


def follow_few(
    operator: SignedRows, solution: DualSolution, levels: Levels, active_set: ActiveSet, leg: Leg, log: Log, clock: Clock, ball: Ball
) -> tuple[int, int]:  # fmt: skip
    """What `follow` does, for few points and a ball that is the whole space."""
    n, d = operator.matrix.shape
    points = np.zeros((12, n))
    points[: kernel.DV] = solution.a, solution.m, levels.p, levels.q
    points[kernel.INNER], points[kernel.OUTER], points[kernel.ROOT] = levels.C, levels.out_level, operator.root
    if leg.kind != CONTINUOUS:
        points[kernel.DV, leg.v_index] = leg.v
    points[kernel.DP], points[kernel.DQ] = leg.dp, leg.dq
    places = np.zeros((4, n + 1), dtype=np.int64)
    places[kernel.ACTIVE], places[kernel.POSITION, :n] = active_set.active, active_set.position
    ways = np.zeros((5, d))
    ways[kernel.DRIVE], ways[kernel.FAR] = leg.drive, ball.way
    driven = float(np.abs(leg.v) @ operator.root[leg.v_index])
    reals = np.array([clock.t[0], leg.t_end, clock.random[0], 0.0, driven, 0.0, operator.widest, 0.0])
    counts = np.array(
        [active_set.size[0], clock.changes[0], clock.idle[0], leg.kind, leg.moving, leg.budget, log.events[0], log.entries[0], 0, -1, -1]
    )  # fmt: skip
    code = kernel.follow_few(
        points, solution.state, places, ways, operator.columns, active_set.U, np.empty((4, len(active_set.U))), reals, counts,
        log.t, log.marks, (log.which, log.change),
    )  # fmt: skip
    solution.a[:], solution.m[:], levels.p[:], levels.q[:] = points[: kernel.DV]
    active_set.active[:], active_set.position[:] = places[kernel.ACTIVE], places[kernel.POSITION, :n]
    ball.way[:] = ways[kernel.FAR]
    active_set.size[0], clock.changes[0], clock.idle[0] = counts[:3]
    clock.t[0], clock.random[0] = reals[kernel.T], reals[kernel.RANDOM]
    log.events[0], log.entries[0] = counts[kernel.EVENTS : kernel.MARKED]
    return code, int(counts[kernel.WHO]) if code in (TIED, STALLED) else -1
