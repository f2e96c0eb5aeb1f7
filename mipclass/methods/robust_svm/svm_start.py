"""The plain SVM to working accuracy by coordinate descent or interior point, then exactly by a homotopy in the margin levels."""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Index
from ...numeric.cholesky_update import solve_lower, solve_upper
from ...protocol.result import Status
from ...protocol.run import Run
from .dual_descent import approach, descent_on
from .kernels.active_set import drop_last
from .kernels.dual_coordinate import MultiplierBounds
from .kernels.partition import EDGE, LEFT, RIGHT
from .state import OutlierState, PathCutError

TOLERANCE = 1e-3  # projected gradient at which coordinate descent stops; the homotopy goes on from there
ACCURACY = 1e-9  # relative gap and gradient of the interior point, which descent follows
TINY = 1e-300  # keeps the division by a rate of zero finite


def solve_svm(state: OutlierState, run: Run, start: Array | None = None) -> Status | None:
    """Put `state` at the exact solution of the SVM with the hinge loss (theta = 1).

    Descent or interior point gives multipliers near the optimum. They are exactly optimal for shifted levels p_i (the margin
    itself where 0 < a_i < C_i; beyond the margin by a random slack where a bound is violated), and the homotopy moves the
    levels to 1. `start` takes the place of descent. Returns why it stopped at what descent had reached, or None.
    """
    C = state.C
    if start is None:
        descent = descent_on(state.operator, TOLERANCE, run.seed)
        status = approach(descent, MultiplierBounds(np.zeros(len(C)), C), ACCURACY, run)
        state.a = descent.a
    else:
        status = run.stop()
        state.a = start.copy()
    independent = drop_dependent(state, run) if status is None else state.A
    status = run.stop() if status is None else status
    state.recompute_margins()
    free = (state.a > 0) & (state.a < C)
    low = state.a <= 0
    state.state[:] = np.where(free, EDGE, np.where(low, RIGHT, LEFT))
    levels = 1.0 + state.jitter * state.shift
    wrong = np.where(low, levels - state.m, np.where(free, 0.0, state.m - levels))
    # Of the size of the violations: the shorter the way of the levels, the fewer points change their state on it.
    slack = max(float(wrong.max()), state.jitter) * np.random.default_rng(run.seed).uniform(0.5, 1.0, len(C))
    state.p = np.where(low & (state.m < levels), state.m - slack, levels)
    state.p = np.where(~low & ~free & (state.m > levels), state.m + slack, state.p)
    state.p[free] = state.m[free]
    if status is not None:
        return status
    if not np.array_equal(np.sort(independent), np.flatnonzero(free)):
        state.factorise(np.flatnonzero(free))
    try:
        state.move_levels(levels, state.q)
    except PathCutError:
        return run.stop()
    return None


def drop_dependent(state: OutlierState, run: Run) -> Index:
    """Move free multipliers (0 < a < C) of dependent points along the null space of Q to a bound, keeping w as it is.

    Afterwards the free points have a nonsingular Q, and its factor is in place, unless the run had to stop; returns them.
    """
    operator = state.operator
    free = np.flatnonzero((state.a > 0) & (state.a < state.C))
    state.factorise(free[:0])
    for j in map(int, free):
        if run.stop() is not None:
            break
        k = len(state.A)
        state.reserve(k + 1)
        if operator.join(state.active_set, j) >= operator.dependent_below:
            continue
        drop_last(state.active_set)
        rate = operator.column(state.active_set, j)
        solve_lower(state.active_set.U, k, rate)
        solve_upper(state.active_set.U, k, rate)
        which = np.append(state.A, j)
        rate = np.append(-rate, 1.0)
        room = np.where(rate > 0, state.C[which] - state.a[which], state.a[which])
        steps = room / np.maximum(np.abs(rate), TINY)
        first = int(np.argmin(steps))
        state.a[which] = np.clip(state.a[which] + steps[first] * rate, 0.0, state.C[which])
        state.a[which[first]] = state.C[which[first]] if rate[first] > 0 else 0.0
        if first < k:
            state.release(int(which[first]))
            operator.join(state.active_set, j)
    return state.A.copy()
