"""The discontinuous step of the outlier path: a point at the cut-off changes sides until no point is at the cut-off."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, combinations

import numpy as np

from ...arrays import Array, Index, Mask
from .kernels import legs
from .kernels.jump_run import ROUNDS, TOGETHER
from .kernels.operators import SignedGram
from .kernels.partition import LEFT, MOVING, OUT, RIGHT, TIE_IN, TIE_OUT
from .kernels.primal_dual import Waiting, correct
from .local_optimality import MOST_TIES
from .state import OutlierState, PathCutError, PathStalledError

ROOM = 256  # points that may join the active set in these rounds; more make the primal-dual active set give up
# Rounds of a jump: this many per point, and LEAST_ROUNDS more. Only rounding can need as many.
ROUNDS_PER_POINT, LEAST_ROUNDS = 10, 100
NEAR = 1e-8  # a margin this near to the cut-off counts as being at it: a hundred times the random shifts of the levels
LEAST_FALL = (
    1e-8  # smallest decrease of the objective that counts, relative to it: less may come from the random shifts
)
ORIGIN = 1e-10  # a point whose Q_ii is below this share of the largest is at the origin: no rule moves its margin
TRIED_TIES = 50  # points at the cut-off that are tried one at a time when there are more than MOST_TIES
DSolver = Callable[[OutlierState, Index], None]


def by_homotopy(state: OutlierState, points: Index) -> None:
    """Move points to the other side along the exact homotopy in their multipliers: any number out, or one in."""
    if state.state[points[0]] in (OUT, TIE_OUT):
        _rise(state, int(points[0]))
    elif len(points) == 1:
        _fall(state, points)
        state.state[points] = OUT
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
    state.state[points] = MOVING
    state.leg(legs.FALL, 1.0, v_index=points, v=target - state.a[points])
    state.a[points] = target


def _rise(state: OutlierState, j: int) -> None:
    """Drive the multiplier of one outlier to that of an inlier, or until it lands on the edge or right of it."""
    state.release(j)
    state.state[j] = MOVING
    state.leg(legs.RISE, 1.0, moving=j, v_index=np.array([j]), v=np.array([state.C[j] - state.a[j]]))
    if state.state[j] == MOVING:
        state.state[j] = LEFT
        state.a[j] = state.C[j]


def _settle(state: OutlierState, points: Index) -> bool:
    """Give the points of a fall their states: those that the others have lifted above the cut-off become inliers again.

    Returns False when such a point has been lifted to the level 1 with a positive multiplier: it has no state there.
    """
    for j in points:
        if state.m[j] <= state.q[j]:
            state.state[j] = OUT
        elif state.m[j] < state.p[j]:
            _rise(state, j)
        elif state.a[j] == 0.0:
            state.state[j] = RIGHT
        else:
            return False
    return True


def by_primal_dual(state: OutlierState, points: Index) -> None:
    """Move points to the other side by a primal-dual active set started from the present states; for a Gram matrix."""
    assert isinstance(state.operator, SignedGram)
    saved = state.copy_solution()
    falls = bool(state.state[points[0]] in (LEFT, TIE_IN))
    for j in points:
        state.release(j)
    target = (state.out_level if falls else state.C)[points]
    waiting = _waiting(points, target - state.a[points], len(state.a))
    state.a[points] = target
    state.state[points] = OUT if falls else LEFT
    state.reserve(len(state.A) + ROOM)
    used = correct(
        state.operator, state.solution, state.levels, state.active_set, waiting, saved.solution, ROUNDS, state.look
    )
    if used < 0:
        state.restore_solution(saved)
        by_homotopy(state, points)
    else:
        state.events += used


def _waiting(points: Index, shift: Array, n: int) -> Waiting:
    """The points whose multipliers have been moved, with room for all n."""
    waiting = Waiting(np.empty(n, dtype=np.int64), np.empty(n), np.array([len(points)]))
    waiting.points[: len(points)] = points
    waiting.shift[: len(points)] = shift
    return waiting


def jump(state: OutlierState, j: int, change_sides: DSolver) -> None:
    """Let point j change sides, and then the points that this brings to the cut-off, until there are none.

    Each round lowers the objective strictly when Q on the edge and the ties is nonsingular (Theorem 3), whatever ties
    change sides, so the loop ends: all inliers at the cut-off leave together, outliers come back one by one. When Q is
    singular, points that leave together may come back and leave again without end; one at a time they do not, and the limit
    only guards against rounding.
    """
    rounds = 0
    limit = ROUNDS_PER_POINT * len(state.C) + LEAST_ROUNDS
    points = np.array([j])
    while len(points):
        change_sides(state, points)
        rounds += 1
        if state.stop() is not None:
            raise PathCutError
        if rounds > limit:
            raise PathStalledError(f"more than {limit} points changed sides at one value of the parameter")
        points = next_ties(state, together=rounds <= TOGETHER)


def next_ties(state: OutlierState, *, together: bool) -> Index:
    """All inliers tied at the cut-off if there are any and they may go `together`, else the one tie farthest beyond its bound."""
    ties = state.ties()
    inliers: Index = ties[state.state[ties] == TIE_IN]
    if together and len(inliers):
        return inliers
    if len(ties) == 0:
        return ties
    a = state.a[ties]
    excess = np.where(state.state[ties] == TIE_IN, a - state.C[ties], state.out_level[ties] - a)
    worst = int(np.argmax(excess / state.C[ties]))
    return ties[worst : worst + 1]


def leave_cut_off(state: OutlierState, change_sides: DSolver) -> int:
    """Take points at the cut-off to the other side where that lowers the objective; returns one of them, or -1 for none.

    With discrete features a path may end with points at the cut-off that never crossed it: the random shifts of their levels
    have put them on one side. This is a local optimum only if no other choice of sides is better. All choices are tried for
    up to MOST_TIES points; for more, the choices that change one point.
    """
    before = state.objective()
    ties = np.flatnonzero(_at_cut_off(state))[:TRIED_TIES]
    sizes = range(1, len(ties) + 1) if len(ties) <= MOST_TIES else (1,)
    for points in chain.from_iterable(combinations(ties.tolist(), size) for size in sizes):
        saved, levels = state.copy_solution(), state.p.copy()
        try:
            for j in points:
                if _at_cut_off(state)[j] and state.state[j] == saved.solution.state[j]:
                    jump(state, j, change_sides)
            if state.objective() < before - LEAST_FALL * abs(before):
                return int(points[0])
        except PathCutError:
            state.restore_solution(saved)
            state.p = levels
            raise
        except PathStalledError:
            pass  # this choice of sides cannot be tried: the solution stays as it was
        state.restore_solution(saved)
        state.p = levels
    return -1


def _at_cut_off(state: OutlierState) -> Mask:
    """Inactive points at the cut-off, on either side; points at the origin, whose margin no rule moves, are left out."""
    diagonal = state.operator.diagonal
    moves = diagonal > ORIGIN * diagonal.max(initial=0.0)
    outside = (state.active_set.position < 0) & (state.state >= LEFT)
    return np.asarray(moves & outside & (np.abs(state.true_margins() - state.s) <= NEAR))
