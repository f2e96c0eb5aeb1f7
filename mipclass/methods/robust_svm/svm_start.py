"""The plain SVM to working accuracy by coordinate descent or interior point, then exactly by a homotopy in the margin levels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...numeric.cholesky_update import solve_lower, solve_upper
from ...numeric.random import State, random_state
from ...protocol.result import Status
from ...protocol.run import Run
from .kernels import dual_coordinate
from .kernels import homotopy as kernel
from .state import OutlierState
from .svm_interior import LARGEST_D, interior_point

TOLERANCE = 1e-3
SWEEPS = 1000
FIRST_SWEEPS = 50  # an easy problem needs fewer; others go to the interior point
STEPS_A_POINT = 200
CHUNK = 100_000_000  # multiplications between two questions whether to stop
NULL = 1e-9  # kernel case: relative Schur complement below which a point counts as dependent


def solve_svm(state: OutlierState, run: Run, start: Array | None = None) -> Status | None:
    """Put `state` at the exact solution of the SVM with the hinge loss (theta = 1).

    Descent or interior point gives multipliers near the optimum. They are exactly optimal for shifted levels p_i (the margin itself where
    0 < a_i < C_i; beyond the margin by a random slack where a bound is violated), and the homotopy moves the levels to 1.
    `start` takes the place of descent. Returns why it stopped at what descent had reached, or None.
    """
    if start is None:
        status = _descend(state, run)
    else:
        status = run.stop()
        state.a = start.copy()
        state.refresh()
    independent = drop_dependent(state)
    state.refresh()  # nearly dependent points of a kernel leave the rule only nearly as it was
    n = len(state.C)
    free = (state.a > 0) & (state.a < state.C)
    low = state.a <= 0
    state.state[:] = np.where(free, kernel.EDGE, np.where(low, kernel.RIGHT, kernel.LEFT))
    levels = 1.0 + state.jitter * state.shift
    wrong = np.where(low, levels - state.m, np.where(free, 0.0, state.m - levels))
    # Of the size of the violations: the shorter the way of the levels, the fewer points change their state on it.
    slack = max(float(wrong.max()), state.jitter) * np.random.default_rng(run.seed).uniform(0.5, 1.0, n)
    state.p = np.where(low & (state.m < levels), state.m - slack, levels)
    state.p = np.where(~low & ~free & (state.m > levels), state.m + slack, state.p)
    state.p[free] = state.m[free]
    if not np.array_equal(np.sort(independent), np.flatnonzero(free)):
        state.factorise(np.flatnonzero(free))
    if status is None:
        state.move_levels(levels, state.q)
    return status


def _descend(state: OutlierState, run: Run) -> Status | None:
    """Near the optimum, to TOLERANCE or as far as sweeps and time allow; returns why it stopped early, or None."""
    return _descend_linear(state, run) if state.linear else _descend_kernel(state, run)


def _descend_linear(state: OutlierState, run: Run) -> Status | None:
    w = np.zeros(state.Z.shape[1])
    random = random_state(run.seed)
    done, status = _sweep(state, w, FIRST_SWEEPS, random, run)
    if not done and status is None:
        if len(w) <= LARGEST_D:
            state.a = interior_point(state.Z, state.C, 1e-9, run.stop)
            w = state.Z.T @ state.a
        _, status = _sweep(state, w, SWEEPS, random, run)
    support = np.flatnonzero(state.a)
    state.m = state.product(support, state.a[support])[1]
    return status


def _sweep(state: OutlierState, w: Array, sweeps: int, random: State, run: Run) -> tuple[bool, Status | None]:
    """Coordinate descent from state.a with w = Z'a, which moves along: (whether TOLERANCE was reached, why it stopped)."""
    lower = np.zeros(len(state.C))
    chunk = max(1, min(sweeps, CHUNK // max(1, state.Z.size)))
    for _ in range(0, sweeps, chunk):
        used, _ = dual_coordinate.linear_descent(
            state.Z, lower, state.C, state.a, w, state.diagonal, TOLERANCE, chunk, random
        )
        status = run.stop()
        if used < chunk or status is not None:
            return used < chunk, status
    return False, None


def _descend_kernel(state: OutlierState, run: Run) -> Status | None:
    n = len(state.C)
    lower = np.zeros(n)
    chunk = max(1, CHUNK // max(1, n))
    status: Status | None = None
    for _ in range(0, STEPS_A_POINT * n, chunk):
        used, _ = dual_coordinate.kernel_descent(
            state.Z, lower, state.C, state.a, state.m, state.diagonal, TOLERANCE, chunk
        )
        status = run.stop()
        if used < chunk or status is not None:
            break
    return status


def drop_dependent(state: OutlierState) -> NDArray[np.int64]:
    """Move free multipliers (0 < a < C) of dependent points along the null space of Q to a bound, keeping w as it is.

    Afterwards the free points have a nonsingular Q, and its factor is in place; returns them.
    """
    free = np.flatnonzero((state.a > 0) & (state.a < state.C))
    state.factorise(free[:0])
    scratch = np.empty((1, len(state.C) + 2))

    def join(new: NDArray[np.int64]) -> float:
        return float(kernel.join(
            state.Z, state.rows, state.linear, state.diagonal, state.active, state.position, state.count, state.U, new, scratch
        ))  # fmt: skip

    for j in free:
        k = int(state.count[0])
        state.reserve(k + 1)
        one = np.array([j])
        complement = join(one)
        if complement >= (kernel.DEPENDENT if state.linear else NULL):
            continue
        state.count[0] = k
        state.position[j] = -1
        rate = np.empty(k + 1)
        kernel.column_on_active(state.Z, state.linear, state.active, k, j, rate)
        solve_lower(state.U, k, rate)
        solve_upper(state.U, k, rate)
        which = np.append(state.A, j)
        rate = np.append(-rate[:k], 1.0)
        room = np.where(rate > 0, state.C[which] - state.a[which], state.a[which])
        steps = room / np.maximum(np.abs(rate), 1e-300)
        first = int(np.argmin(steps))
        state.a[which] = np.clip(state.a[which] + steps[first] * rate, 0.0, state.C[which])
        state.a[which[first]] = state.C[which[first]] if rate[first] > 0 else 0.0
        if first < k:
            state.release(int(which[first]))
            join(one)
    return state.A.copy()
