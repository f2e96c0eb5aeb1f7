"""The plain SVM of a kernel without a stored matrix: solve on working sets, and check all points after each.

Coordinate descent runs on the points that violate the optimality conditions most, with the margins of the others' multipliers
held; one product with the multipliers that changed then brings all margins up to date. Near the optimum the homotopy of
start makes the solution exact on the points near the margin, until no other point violates its condition.
"""

from __future__ import annotations

import numpy as np

from ....arrays import Array, Index, Positions
from ....protocol.result import Status
from ....protocol.run import Run
from ..kernel_rows import KernelRows
from ..kernels.dual_coordinate import MultiplierBounds, kernel_descent
from ..kernels.partition import EDGE, LEFT, RIGHT
from ..state import OutlierState, PathStalledError
from .start import TOLERANCE, solve_from

LARGEST = 4000  # points of a working set: its matrix takes 128 MB
FREE = (
    0.6  # share of the working set that free points may take; the rest is for points at a bound that they have to leave
)
BLURRED = 0.2  # range of margins around 1 in which the first guess is neither of the bounds
STEPS_PER_POINT = 50  # steps of descent on one working set; the next one goes on where it stops
CALL_STEPS = 20_000  # steps between two questions whether to stop
MOST_SETS = 500  # working sets of the descent; some tens are usual
NEAREST = 0.1  # share of the points, the nearest to the margin, that are made exact together with the free ones
EXACT_ROUNDS = 30  # times that points which violate their conditions are added to those; one or two are usual


def sift_svm(state: OutlierState, operator: KernelRows, run: Run, start: Array | None = None) -> Status | None:
    """Put `state` at the exact solution of the SVM; returns why it stopped early, or None. `start`: multipliers near it, if known."""
    C = state.C
    a = _guess(operator, C, run) if start is None else np.clip(start, 0.0, C)
    used = np.flatnonzero(a)
    m = operator.product(used, a[used])
    for _ in range(MOST_SETS):
        status = run.stop()
        violation = projected_gradient(a, m, C)
        if status is not None or float(violation.max(initial=0.0)) <= TOLERANCE:
            break
        names = _most_violating(violation, a, C)
        m += _descend(operator, names, a, m, C, run)
    state.a, state.m = a, m
    state.p = 1.0 + state.jitter * state.shift
    _read_states(state)
    return run.stop() or _make_exact(state, operator, run)


def projected_gradient(a: Array, m: Array, C: Array) -> Array:
    """(n,) |1 - m| where the multiplier can move in the direction that lowers the objective, else 0."""
    g = 1.0 - m
    return np.where(np.where(g > 0.0, a < C, a > 0.0), np.abs(g), 0.0)


def _most_violating(violation: Array, a: Array, C: Array) -> Index:
    """Up to LARGEST points in ascending order: free ones, for at most a share FREE, and the largest violations among the others."""
    free = (a > 0.0) & (a < C)
    mine = _largest(np.where(free, violation + TOLERANCE, 0.0), int(FREE * LARGEST))
    others = _largest(np.where(free, 0.0, violation), LARGEST - len(mine))
    return np.sort(np.concatenate([mine, others])).astype(np.int64)


def _largest(rank: Array, most: int) -> Positions:
    """The points of the largest positive ranks, at most so many."""
    size = min(most, int(np.count_nonzero(rank)))
    return np.argpartition(-rank, size - 1)[:size] if size else np.empty(0, dtype=np.intp)


def _guess(operator: KernelRows, C: Array, run: Run) -> Array:
    """Multipliers from the SVM of LARGEST random points, whose C is larger by as much as they are fewer.

    Points clearly left of its margin get C and those clearly right of it 0; between, the multiplier falls with the margin.
    """
    n = len(C)
    if n <= LARGEST:
        return np.zeros(n)
    names = np.sort(np.random.default_rng(run.seed).permutation(n)[:LARGEST]).astype(np.int64)
    sample = np.zeros(n)
    m = _descend(operator, names, sample, np.zeros(n), C * (n / LARGEST), run)
    return np.clip(0.5 + (1.0 - m) / BLURRED, 0.0, 1.0) * C


def _descend(operator: KernelRows, names: Index, a: Array, m: Array, C: Array, run: Run) -> Array:
    """Coordinate descent on the points `names`, which changes a; returns the change of all margins."""
    part = operator.restrict(names)
    mine, margins = a[names], m[names]
    box = MultiplierBounds(np.zeros(len(names)), C[names])
    for _ in range(0, STEPS_PER_POINT * len(names), CALL_STEPS):
        used = kernel_descent(part.matrix, box, mine, margins, part.diagonal, 0.5 * TOLERANCE, CALL_STEPS)
        if used < CALL_STEPS or run.stop() is not None:
            break
    changed = np.flatnonzero(mine != a[names])
    step = (mine - a[names])[changed]
    a[names] = mine
    return operator.product(names[changed], step)


def _read_states(state: OutlierState) -> None:
    """The states of the SVM's points, as the multipliers say."""
    low, high = state.a <= 0.0, state.a >= state.C
    state.state[:] = np.where(low, RIGHT, np.where(high, LEFT, EDGE))


def _make_exact(state: OutlierState, operator: KernelRows, run: Run) -> Status | None:
    """Make the solution exact on the points near the margin and on those that turn out to violate their conditions."""
    C, n = state.C, len(state.C)
    free = (state.a > 0.0) & (state.a < C)
    near = np.argpartition(np.abs(state.m - 1.0), int(NEAREST * n))[: int(NEAREST * n) + 1]
    inside = free | (projected_gradient(state.a, state.m, C) > 0.0)
    inside[near] = True
    for _ in range(EXACT_ROUNDS):
        names = np.flatnonzero(inside)
        before = state.a.copy()
        state.active_set.clear()
        part = state.restrict(names)
        status = solve_from(part, run, part.a.copy(), run.stop(), part.m.copy())
        changed = np.flatnonzero(part.a != before[names])
        margins = state.m + operator.product(names[changed], (part.a - before[names])[changed])
        state.adopt(part, names, margins)
        if status is not None:
            return status
        crossed = ~inside & np.where(state.state == RIGHT, state.m < state.p, state.m > state.p)
        if not crossed.any():
            return None
        inside |= crossed
    raise PathStalledError(f"points keep violating their conditions after {EXACT_ROUNDS} working sets of the SVM")
