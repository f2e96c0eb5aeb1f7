"""The discontinuous step of the outlier path: a point at the cut-off changes sides until no point is at the cut-off."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..kernels import homotopy as kernel
from .outlier_state import OutlierState, PathStalledError

Index = NDArray[np.int64]

ROUNDS = 12  # of the primal-dual active set before the homotopy takes over
TOGETHER = 40  # rounds of a jump in which all inliers at the cut-off leave at once
DSolver = Callable[[OutlierState, Index], None]


def by_homotopy(state: OutlierState, points: Index) -> None:
    """Move points to the other side along the exact homotopy in their multipliers: any number out, or one in."""
    if state.state[points[0]] in (kernel.OUT, kernel.TIE_OUT):
        _rise(state, int(points[0]))
    elif len(points) == 1:
        _fall(state, points)
        state.state[points] = kernel.OUT
    else:
        saved = state.copy_solution()
        _fall(state, points)
        if not _settle(state, points):
            state.restore_solution(saved)
            by_homotopy(state, points[:1])


def _fall(state: OutlierState, points: Index) -> None:
    """Drive the multipliers of inliers to those of outliers; the points are still MOVING afterwards."""
    for j in points:
        state.release(j)
    target = state.out_level[points]
    state.state[points] = kernel.MOVING
    state.leg(kernel.FALL, 1.0, v_index=points, v=target - state.a[points])
    state.a[points] = target


def _rise(state: OutlierState, j: int) -> None:
    """Drive the multiplier of one outlier to that of an inlier, or until it lands on the edge or right of it."""
    state.release(j)
    state.state[j] = kernel.MOVING
    state.leg(kernel.RISE, 1.0, moving=j, v_index=np.array([j]), v=np.array([state.C[j] - state.a[j]]))
    if state.state[j] == kernel.MOVING:
        state.state[j] = kernel.LEFT
        state.a[j] = state.C[j]


def _settle(state: OutlierState, points: Index) -> bool:
    """End a fall of several points: one that another has lifted above the cut-off goes back, where its loss is smaller.

    False when such a point has risen to the margin itself with a positive multiplier.
    """
    for j in points:
        if state.m[j] <= state.q[j]:
            state.state[j] = kernel.OUT
        elif state.m[j] < state.p[j]:
            _rise(state, j)
        elif state.a[j] == 0.0:
            state.state[j] = kernel.RIGHT
        else:
            return False
    return True


def by_primal_dual(state: OutlierState, points: Index) -> None:
    """Move points to the other side by a primal-dual active set started from the present states."""
    from ..kernels.primal_dual import correct

    saved = state.copy_solution()
    falls = bool(state.state[points[0]] in (kernel.LEFT, kernel.TIE_IN))
    for j in points:
        state.release(j)
    target = (state.out_level if falls else state.C)[points]
    change = target - state.a[points]
    state.a[points] = target
    state.state[points] = kernel.OUT if falls else kernel.LEFT
    state.reserve(int(state.count[0]) + 256)
    used = correct(
        state.Z, state.diagonal, state.a, state.m, state.p, state.q, state.C, state.out_level, state.state,
        state.active, state.position, state.count, state.U, points, change, ROUNDS, saved[0], saved[1],
    )  # fmt: skip
    if used < 0:
        state.restore_solution(saved)
        by_homotopy(state, points)
    else:
        state.events += used


def jump(state: OutlierState, j: int, change_sides: DSolver) -> int:
    """Change sides until no point is at the cut-off; returns the number of rounds.

    Each round lowers the objective strictly when Q on the edge and the ties is nonsingular (Theorem 3), whatever ties
    change sides, so the loop ends: all inliers at the cut-off leave together, outliers come back one by one. When Q is
    singular the points may go round in circles together; one at a time they do not, and the limit only guards against rounding.
    """
    rounds = 0
    limit = 10 * len(state.C) + 100
    points = np.array([j])
    while len(points):
        change_sides(state, points)
        rounds += 1
        if rounds > limit:
            raise PathStalledError(f"more than {limit} points changed sides at one value of the parameter")
        points = next_ties(state, together=rounds <= TOGETHER)
    return rounds


def next_ties(state: OutlierState, *, together: bool) -> Index:
    """All inliers at the cut-off if there are any and they may go `together`, else the tie farthest beyond its interior value."""
    ties = state.ties()
    inliers: Index = ties[state.state[ties] == kernel.TIE_IN]
    if together and len(inliers):
        return inliers
    if len(ties) == 0:
        return ties
    a = state.a[ties]
    excess = np.where(state.state[ties] == kernel.TIE_IN, a - state.C[ties], state.out_level[ties] - a)
    worst = int(np.argmax(excess / state.C[ties]))
    return ties[worst : worst + 1]
