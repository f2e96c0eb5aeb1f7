"""Primal-dual active set for one conditional QP: guess the states, solve for the active multipliers, correct the guess.

The guess comes from the neighbouring partition, so two or three corrections are usual. There is no guarantee: the caller
keeps a copy and falls back to the homotopy when this gives up (too many rounds, or a numerically dependent point).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....arrays import Array, Index
from ....kernels.decorator import njit
from ....numeric.cholesky_update import solve_lower, solve_upper
from .active_set import ActiveSet, append_points, leave
from .compiled import inner_kernel
from .operators import SignedGram
from .partition import EDGE, LEFT, OUT, RIGHT, TIE_IN, TIE_OUT, DualSolution, Levels
from .rows import combine_rows

SLACK = 1e-13  # a violation below this, relative to C (multipliers) or to 1 + Q_ii C (margins), is rounding
TOGETHER = 12  # changes of the factor made in one pass over it
LARGE = 1e3  # a move so many times beyond what the bounds allow leaves more rounding in the margins than is claimed
DEPENDENT = 1e-9  # a point with a smaller Schur complement, relative to Q_ii, is left to the homotopy


class Waiting(NamedTuple):
    """Inactive points whose a has been set already but whose effect is not yet in m = Qa: the first size[0] entries.

    points : (n,) their numbers.   shift : (n,) changes of their multipliers.   size : (1,) how many there are.
    """

    points: Index
    shift: Array
    size: Index


@inner_kernel
def answer(gram: SignedGram, solution: DualSolution, levels: Levels, active_set: ActiveSet, waiting: Waiting) -> float:
    """Move the active margins to their levels, and all margins with them and with the points that wait.

    Returns the largest move of a multiplier, relative to what its bounds allow.
    """
    active, U = active_set.active, active_set.U
    k = active_set.size[0]
    da = np.empty(k)
    for c in range(k):
        i = active[c]
        da[c] = (levels.p[i] if solution.state[i] == EDGE else levels.q[i]) - solution.m[i]
    for e in range(waiting.size[0]):
        row = gram.matrix[waiting.points[e]]
        for c in range(k):
            da[c] -= row[active[c]] * waiting.shift[e]
    solve_lower(U, k, da)
    solve_upper(U, k, da)
    combine_rows(gram.matrix, active, da, k, solution.m)
    combine_rows(gram.matrix, waiting.points, waiting.shift, waiting.size[0], solution.m)
    farthest = 0.0
    for c in range(k):
        i = active[c]
        solution.a[i] += da[c]
        farthest = max(farthest, abs(da[c]) * gram.diagonal[i] / (1.0 + gram.diagonal[i] * levels.C[i]))
    return farthest


@inner_kernel
def beyond_bounds(solution: DualSolution, levels: Levels, active_set: ActiveSet, waiting: Waiting) -> None:
    """Put active points whose multipliers violate a bound at it; they wait, and have still to leave the active set."""
    a, state, C, out_level = solution.a, solution.state, levels.C, levels.out_level
    waiting.size[0] = 0
    for c in range(active_set.size[0]):
        i = active_set.active[c]
        s = state[i]
        to = -1
        slack = SLACK * C[i]
        if s == EDGE:
            if a[i] < -slack:
                to = RIGHT
            elif a[i] > C[i] + slack:
                to = LEFT
        elif s == TIE_IN:
            if a[i] < C[i] - slack:
                to = LEFT
        elif a[i] > out_level[i] + slack:
            to = OUT
        if to >= 0:
            value = 0.0 if to == RIGHT else (C[i] if to == LEFT else out_level[i])
            state[i] = to
            e = waiting.size[0]
            waiting.points[e] = i
            waiting.shift[e] = value - a[i]
            a[i] = value
            waiting.size[0] = e + 1


@inner_kernel
def across_levels(solution: DualSolution, levels: Levels, position: Index, diagonal: Array, entering: Index) -> int:
    """Give inactive points whose margins violate a level the state at it; lists them in `entering` and returns how many."""
    m, state, p, q = solution.m, solution.state, levels.p, levels.q
    count = 0
    for i in range(m.shape[0]):
        if position[i] >= 0:
            continue
        s = state[i]
        slack = SLACK * (1.0 + diagonal[i] * levels.C[i])
        to = -1
        if s == RIGHT:
            if m[i] < p[i] - slack:
                to = EDGE
        elif s == LEFT:
            if m[i] > p[i] + slack:
                to = EDGE
            elif m[i] < q[i] - slack:
                to = TIE_IN
        elif m[i] > q[i] + slack:
            to = TIE_OUT
        if to >= 0:
            state[i] = to
            entering[count] = i
            count += 1
    return count


@njit(cache=True)
def correct(
    gram: SignedGram, solution: DualSolution, levels: Levels, active_set: ActiveSet, waiting: Waiting, before: DualSolution, rounds: int
) -> int:  # fmt: skip
    """Solve from the states as guessed; returns the rounds used, or -1 when it gave up (all arrays are then unusable).

    `before`: the solution before the points that wait were moved. A wrong guess may move nearly dependent points far, and
    the next one back again: m is then computed anew from `before` and corrected once more. Each round costs O(n |A|), and
    O(|A|^2) per change of state.
    """
    n = solution.a.shape[0]
    capacity = active_set.U.shape[0]
    spare = np.empty((TOGETHER, capacity))
    entering = np.empty(n, dtype=np.int64)
    farthest = 0.0
    for used in range(rounds):
        k = active_set.size[0]
        farthest = max(farthest, answer(gram, solution, levels, active_set, waiting))
        beyond_bounds(solution, levels, active_set, waiting)
        leaving = waiting.size[0]
        joining = across_levels(solution, levels, active_set.position, gram.diagonal, entering)
        if leaving + joining == 0:
            if farthest <= LARGE:
                return used + 1
            farthest = 0.0
            solution.m[:] = before.m
            changed = np.flatnonzero(solution.a != before.a)
            combine_rows(gram.matrix, changed, (solution.a - before.a)[changed], changed.shape[0], solution.m)
            continue
        if k - leaving + joining >= capacity:
            return -1
        for e in range(0, leaving, TOGETHER):
            leave(active_set, waiting.points[e : min(e + TOGETHER, leaving)], spare)
        for e in range(0, joining, TOGETHER):
            new = entering[e : min(e + TOGETHER, joining)]
            if append_points(gram.matrix, gram.diagonal, active_set, new, spare) < DEPENDENT:
                return -1
    return -1
