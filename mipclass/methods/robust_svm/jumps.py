"""The discontinuous step of the outlier path: a point at the cut-off changes sides until no point is at the cut-off."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from ...arrays import Index
from .kernels import homotopy as kernel
from .local_optimality import MOST_TIES
from .state import OutlierState, PathStalledError

ROUNDS = 12  # of the primal-dual active set before the homotopy takes over
TOGETHER = 40  # rounds of a jump in which all inliers at the cut-off leave at once
NEAR = 1e-8  # a margin nearer than this to the cut-off is at it, for all that rounding and random shifts can tell
LEAST_FALL = 1e-8  # of the objective, relative to it: less may come from the random shifts
ORIGIN = 1e-10  # a point with a smaller share of the largest Q_ii is at the origin
TRIED_TIES = 50  # of more than MOST_TIES, one at a time
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
    from .kernels.primal_dual import correct

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


def leave_cut_off(state: OutlierState, change_sides: DSolver) -> int:
    """Take points that are at the cut-off to the other side where that lowers the objective; one of them, or -1 when there are none.

    With discrete features a rule may come to a stand with points at the cut-off that never crossed it: the random shifts of their
    levels have put them on one side. It is a local optimum only if no other choice of sides is better; all choices are tried for up
    to MOST_TIES points, changes of one point beyond.
    """
    before = state.objective()
    ties = np.flatnonzero(_at_cut_off(state))[:TRIED_TIES]
    sizes = range(1, len(ties) + 1) if len(ties) <= MOST_TIES else (1,)
    for points in chain.from_iterable(combinations(ties.tolist(), size) for size in sizes):
        saved, levels = state.copy_solution(), state.p.copy()
        try:
            for j in points:
                if _at_cut_off(state)[j] and state.state[j] == saved[2][j]:
                    jump(state, j, change_sides)
            if state.objective() < before - LEAST_FALL * abs(before):
                return int(points[0])
        except PathStalledError:
            pass  # this choice of sides cannot be tried: the solution stays as it was
        state.restore_solution(saved)
        state.p = levels
    return -1


def _at_cut_off(state: OutlierState) -> NDArray[np.bool_]:
    """Points on either side of the cut-off that are at it; those at the origin are there whatever the rule is."""
    moves = state.diagonal > ORIGIN * state.diagonal.max(initial=0.0)
    outside = (state.position < 0) & (state.state >= kernel.LEFT)
    return np.asarray(moves & outside & (np.abs(state.true_margins() - state.s) <= NEAR))
