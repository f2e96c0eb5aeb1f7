"""The plain SVM to working accuracy by coordinate descent or interior point, then exactly by a homotopy in the margin levels."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from ....arrays import Array, Index
from ....protocol.result import Status
from ....protocol.run import Run
from ..kernel_rows import KernelRows
from ..kernels.active_set import ActiveSet
from ..kernels.dual_coordinate import MultiplierBounds
from ..kernels.operators import SignedGram
from ..kernels.partition import EDGE, LEFT, RIGHT
from ..local_optimality import violations
from ..state import OutlierState, PathCutError, PathStalledError
from .dual_descent import approach, descent_on
from .interior import interior_point

TOLERANCE = 1e-3  # projected gradient at which coordinate descent stops; the homotopy goes on from there
# The same for a stored kernel matrix: there the last steps of descent cost more than the homotopy that takes their place.
GRAM_TOLERANCE = 1e-2
ACCURACY = 1e-9  # relative gap and gradient of the interior point, which descent follows
EXACT = (
    1e-8  # largest violation of the optimality conditions after many steps: margins are about 1, random shifts 1e-10
)
TINY = 1e-300  # keeps the division by a rate of zero finite


def solve_svm(state: OutlierState, run: Run, start: Array | None = None) -> Status | None:
    """Put `state` at the exact solution of the SVM with the hinge loss (theta = 1); returns why it stopped early, or None.

    For a kernel without a stored matrix see sifting. Descent or interior point gives multipliers near the optimum, from which the homotopy goes on; `start` takes their place. For
    few points the homotopy goes all the way, and where its many steps have added up too much rounding it goes again from near.
    """
    if start is None and state.operator.is_few:
        # A point at the origin belongs at the upper bound: no rule moves its margin.
        zero = np.where(state.operator.diagonal > 0.0, 0.0, state.C)
        with suppress(PathStalledError):
            status = solve_from(state, run, zero, run.stop())
            if status is not None or _is_exact(state):
                return status
        start = interior_point(state.operator.matrix, state.C, ACCURACY, run.stop)
    if start is not None:
        return solve_from(state, run, start.copy(), run.stop())
    assert not isinstance(state.operator, KernelRows)
    tolerance = GRAM_TOLERANCE if isinstance(state.operator, SignedGram) else TOLERANCE
    descent = descent_on(state.operator, tolerance, run.seed)
    status = approach(descent, MultiplierBounds(np.zeros(len(state.C)), state.C), ACCURACY, run)
    return solve_from(state, run, descent.a, status)


def _is_exact(state: OutlierState) -> bool:
    """Whether the SVM's optimality conditions hold, recomputed from the multipliers."""
    margins = state.operator.margins(state.a)
    return bool(violations(state.a, margins, state.C, 1.0, 0.0, np.ones(len(margins))).max() <= EXACT)


def solve_from(state: OutlierState, run: Run, a: Array, status: Status | None, m: Array | None = None) -> Status | None:
    """Put `state` at the SVM, starting from the multipliers a, or leave it there when `status` says why to stop.

    `m`: the margins at a, where they are not Qa because multipliers of points that `state` does not have contribute to them.

    They are exactly optimal for shifted levels p_i (the margin itself where 0 < a_i < C_i; beyond the margin by a random slack
    where a bound is violated), and the homotopy moves the levels to 1. Returns why it stopped early, or None.
    """
    C, state.a, given = state.C, a, a.copy()
    at_origin = state.operator.diagonal == 0.0
    a[at_origin] = C[at_origin]  # no rule moves their margin, 0, and the multiplier of a margin below 1 is C
    independent = drop_dependent(state, run) if status is None else state.A
    status = run.stop() if status is None else status
    if m is None:
        state.recompute_margins()
    else:
        moved = np.flatnonzero(state.a != given)
        state.m = m + state.product(moved, (state.a - given)[moved])
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


def _are_independent(gram: SignedGram, active_set: ActiveSet) -> bool:
    """Whether every active point, told by its pivot in the factor, is independent of those before it."""
    k = int(active_set.size[0])
    pivots = np.diagonal(active_set.U)[:k]
    return bool((pivots**2 >= gram.dependent_below * gram.diagonal[active_set.members]).all())


def drop_dependent(state: OutlierState, run: Run) -> Index:
    """Move free multipliers (0 < a < C) of dependent points along the null space of Q to a bound, keeping w as it is.

    Afterwards the free points have a nonsingular Q, and its factor is in place, unless the run had to stop; returns them.
    """
    operator = state.operator
    free = np.flatnonzero((state.a > 0) & (state.a < state.C))
    if isinstance(operator, SignedGram):
        state.factorise(free)
        if _are_independent(operator, state.active_set):
            return free
    state.factorise(free[:0])
    for j in map(int, free):
        if run.stop() is not None:
            break
        k = len(state.A)
        state.reserve(k + 1)
        if operator.join(state.active_set, j) >= operator.dependent_below:
            continue
        state.active_set.drop_last()
        rate = state.active_set.solve(operator.column(state.active_set, j))
        which = np.append(state.A, j)
        rate = np.append(-rate, 1.0)
        room = np.where(rate > 0, state.C[which] - state.a[which], state.a[which])
        with np.errstate(
            over="ignore"
        ):  # of a large multiplier: infinity is as good a number for one that does not move
            steps = room / np.maximum(np.abs(rate), TINY)
        first = int(np.argmin(steps))
        state.a[which] = np.clip(state.a[which] + steps[first] * rate, 0.0, state.C[which])
        state.a[which[first]] = state.C[which[first]] if rate[first] > 0 else 0.0
        if first < k:
            state.release(int(which[first]))
            operator.join(state.active_set, j)
    return state.A.copy()
