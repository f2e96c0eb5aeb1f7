"""The discontinuous step of the outlier path: a point at the cut-off changes sides until no point is at the cut-off."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..kernels import homotopy as kernel
from .outlier_state import OutlierState, PathStalledError

ROUNDS = 12  # of the primal-dual active set before the homotopy takes over
DSolver = Callable[[OutlierState, int], None]


def by_homotopy(state: OutlierState, j: int) -> None:
    """Move point j to the other side along the exact homotopy in its multiplier."""
    falls = state.state[j] in (kernel.LEFT, kernel.TIE_IN)
    state.release(j)
    target = state.out_level[j] if falls else state.C[j]
    state.state[j] = kernel.MOVING
    state.leg(
        kernel.FALL if falls else kernel.RISE,
        1.0,
        moving=j,
        v_index=np.array([j]),
        v=np.array([target - state.a[j]]),
    )
    if state.state[j] == kernel.MOVING:
        state.state[j] = kernel.OUT if falls else kernel.LEFT
        state.a[j] = target


def by_primal_dual(state: OutlierState, j: int) -> None:
    """Move point j to the other side by a primal-dual active set started from the present states."""
    from ..kernels.primal_dual import correct

    saved = state.copy_solution()
    falls = state.state[j] in (kernel.LEFT, kernel.TIE_IN)
    state.release(j)
    target = state.out_level[j] if falls else state.C[j]
    change = np.array([target - state.a[j]])
    state.a[j] = target
    state.state[j] = kernel.OUT if falls else kernel.LEFT
    state.reserve(int(state.count[0]) + 256)
    used = correct(
        state.Z, state.diagonal, state.a, state.m, state.p, state.q, state.C, state.out_level, state.state,
        state.active, state.position, state.count, state.U, np.array([j]), change, ROUNDS,
    )  # fmt: skip
    if used < 0:
        state.restore_solution(saved)
        by_homotopy(state, j)
    else:
        state.events += used


def jump(state: OutlierState, j: int, change_sides: DSolver) -> int:
    """Change sides, one point at a time, until none is at the cut-off; returns the number of changes.

    Each change lowers the objective strictly when Q on the edge and the ties is nonsingular (Theorem 3), so the loop ends;
    the limit only guards against rounding.
    """
    toggles = 0
    limit = 10 * len(state.C) + 100
    while j >= 0:
        change_sides(state, j)
        toggles += 1
        if toggles > limit:
            raise PathStalledError(f"more than {limit} points changed sides at one value of the parameter")
        j = worst_tie(state)
    return toggles


def worst_tie(state: OutlierState) -> int:
    """The tie whose multiplier is farthest beyond its interior value, or -1."""
    ties = state.ties()
    if len(ties) == 0:
        return -1
    a = state.a[ties]
    excess = np.where(state.state[ties] == kernel.TIE_IN, a - state.C[ties], state.out_level[ties] - a)
    return int(ties[np.argmax(excess / state.C[ties])])
