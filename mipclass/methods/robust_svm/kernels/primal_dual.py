"""Primal-dual active set for one conditional QP: guess the states, solve for the active multipliers, correct the guess.

The guess comes from the neighbouring partition, so two or three corrections are usual. There is no guarantee: the caller
keeps a copy and falls back to the homotopy when this gives up (too many rounds, or a numerically dependent point).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....arrays import Array, Index, Mask
from ....kernels.decorator import njit
from ....numeric.cholesky_update import solve_lower, solve_upper
from .active_set import ActiveSet
from .compiled import inner_kernel
from .exchange import join_carrying, leave_carrying
from .operators import SignedGram
from .partition import EDGE, LEFT, OUT, RIGHT, TIE_IN, TIE_OUT, DualSolution, Levels
from .rows import Moved, add_products, combine_rows, find_head, nothing_moved

SLACK = 1e-13  # a violation below this, relative to C (multipliers) or to 1 + Q_ii C (margins), is rounding
TOGETHER = 12  # changes of the factor made in one pass over it
LARGE = 1e3  # a move so many times beyond what the bounds allow leaves more rounding in the margins than is claimed
# When a multiplier has moved so many times farther than its bounds allow, rounding may have moved the active margins off their levels: all
# margins are then recomputed from the multipliers. Up to there the active ones count as being at their levels, and only the others are.
FAR = 10.0
FIRST_LOOK = 0.1  # distance of a margin from its level up to which a new list contains its point
# The distance becomes so many times as large when a point that was not listed has crossed its level, and as small when more than this
# share of the points is listed.
WIDER, NARROWER, MOST_LISTED = 1.25, 0.9, 0.12
DEPENDENT = 1e-9  # a point with a smaller Schur complement, relative to Q_ii, is left to the homotopy


class NearList(NamedTuple):
    """The points whose margins are followed from round to round: the first size[0] entries of `which`; `listed` is their mask.

    moved : a vector of zeros, scratch for the changes of the multipliers in a round.   rows : (n,) scratch for the points whose margins change.
    look : (1,) how near to a level a margin has to be; it is adapted and lasts from one QP to the next.
    """

    which: Index
    listed: Mask
    size: Index
    moved: Moved
    rows: Index
    look: Array


class Waiting(NamedTuple):
    """Inactive points whose a has been set already but whose effect is not yet in m = Qa: the first size[0] entries.

    points : (n,) their numbers.   shift : (n,) changes of their multipliers.   size : (1,) how many there are.
    """

    points: Index
    shift: Array
    size: Index


@inner_kernel
def right_side(
    gram: SignedGram, solution: DualSolution, levels: Levels, active_set: ActiveSet, waiting: Waiting, right: Array
) -> None:
    """right <- inv(U') rhs, where rhs is what the active margins lack to their levels after the effect of the points that wait."""
    active, k = active_set.active, active_set.size[0]
    for c in range(k):
        right[c] = lacks(solution, levels, active[c])
    for e in range(waiting.size[0]):
        row = gram.matrix[waiting.points[e]]
        for c in range(k):
            right[c] -= row[active[c]] * waiting.shift[e]
    solve_lower(active_set.U, k, right[:k])


@inner_kernel
def lacks(solution: DualSolution, levels: Levels, i: int) -> float:
    """What the margin of active point i lacks to its level."""
    return (levels.p[i] if solution.state[i] == EDGE else levels.q[i]) - solution.m[i]


@inner_kernel
def answer(
    gram: SignedGram, solution: DualSolution, levels: Levels, active_set: ActiveSet, waiting: Waiting, near: NearList, right: Array
) -> float:  # fmt: skip
    """Move the active margins to their levels, and update those of the listed points for this and for the points that wait.

    `right` is the forward solve of what the active margins lack, and is overwritten. Returns the largest move of a multiplier, relative to what
    its bounds allow.
    """
    active, U, m, v, rows = active_set.active, active_set.U, solution.m, near.moved.v, near.rows
    k = active_set.size[0]
    da = right[:k]
    solve_upper(U, k, da)
    farthest = 0.0
    for c in range(k):
        i = active[c]
        m[i] += lacks(solution, levels, i)
        solution.a[i] += da[c]
        v[i] = da[c]
        farthest = max(farthest, abs(da[c]) * gram.diagonal[i] / (1.0 + gram.diagonal[i] * levels.C[i]))
    for e in range(waiting.size[0]):
        v[waiting.points[e]] = waiting.shift[e]
    count = 0
    for e in range(near.size[0]):
        i = near.which[e]
        if active_set.position[i] < 0:
            rows[count] = i
            count += 1
    find_head(near.moved, active, waiting.points, k, waiting.size[0])
    add_products(gram.matrix, rows, count, near.moved, m)
    for c in range(k):
        v[active[c]] = 0.0
    for e in range(waiting.size[0]):
        v[waiting.points[e]] = 0.0
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
def state_beyond(solution: DualSolution, levels: Levels, i: int, slack: float) -> int:
    """The state at the level that inactive point i has crossed by more than `slack`, or -1."""
    m, s = solution.m[i], solution.state[i]
    if s == RIGHT:
        return EDGE if m < levels.p[i] - slack else -1
    if s == LEFT:
        if m > levels.p[i] + slack:
            return EDGE
        return TIE_IN if m < levels.q[i] - slack else -1
    return TIE_OUT if m > levels.q[i] + slack else -1


@inner_kernel
def across_levels(
    solution: DualSolution, levels: Levels, position: Index, diagonal: Array, near: NearList, entering: Index
) -> int:
    """Give listed inactive points whose margins violate a level the state at it; puts them into `entering`, returns how many."""
    count = 0
    for e in range(near.size[0]):
        i = near.which[e]
        if position[i] < 0:
            to = state_beyond(solution, levels, i, SLACK * (1.0 + diagonal[i] * levels.C[i]))
            if to >= 0:
                solution.state[i] = to
                entering[count] = i
                count += 1
    return count


@inner_kernel
def list_near(near: NearList, solution: DualSolution, levels: Levels, position: Index) -> None:
    """List the inactive points whose margins are within near.look of a level at which they would change their state."""
    m, state, look = solution.m, solution.state, near.look[0]
    count = 0
    for i in range(m.shape[0]):
        if position[i] >= 0:
            near.listed[i] = False
            continue
        gap = levels.q[i] - m[i] if state[i] == OUT else abs(m[i] - levels.p[i])
        if state[i] == LEFT:
            gap = min(gap, m[i] - levels.q[i])
        near.listed[i] = gap <= look
        if gap <= look:
            near.which[count] = i
            count += 1
    near.size[0] = count


@inner_kernel
def keep_listed(near: NearList, points: Index, count: int) -> None:
    """Add points that are about to become inactive to the list."""
    for e in range(count):
        i = points[e]
        if not near.listed[i]:
            near.listed[i] = True
            near.which[near.size[0]] = i
            near.size[0] += 1


@inner_kernel
def exact_margins(gram: SignedGram, solution: DualSolution, before: DualSolution) -> None:
    """m of all points, from the margins `before` and all changes of the multipliers since then."""
    changed = np.flatnonzero(solution.a != before.a)
    solution.m[:] = before.m
    combine_rows(gram.matrix, changed, (solution.a - before.a)[changed], changed.shape[0], solution.m)


@inner_kernel
def far_margins(
    gram: SignedGram, solution: DualSolution, active_set: ActiveSet, before: DualSolution, near: NearList
) -> None:
    """Bring m up to date for the inactive points that are not listed: their margins `before` plus the effect of all changes since then."""
    a, n, v, rows = solution.a, solution.a.shape[0], near.moved.v, near.rows
    count = 0
    for i in range(n):
        v[i] = a[i] - before.a[i]
        if v[i] != 0.0:
            rows[count] = i
            count += 1
    find_head(near.moved, rows, rows, count, 0)
    count = 0
    for i in range(n):
        if active_set.position[i] < 0 and not near.listed[i]:
            solution.m[i] = before.m[i]
            rows[count] = i
            count += 1
    add_products(gram.matrix, rows, count, near.moved, solution.m)
    for i in range(n):
        v[i] = 0.0


@inner_kernel
def exchange(
    gram: SignedGram, solution: DualSolution, levels: Levels, active_set: ActiveSet, waiting: Waiting, entering: Index, right: Array, spare: Array
) -> float:  # fmt: skip
    """Take the points that wait out of the active set and put those `entering` in; `right` becomes the forward solve of the next round.

    The other active margins must be at their levels. Returns the smallest Schur complement of a new point relative to Q_jj.
    """
    leaving = waiting.size[0]
    right[: active_set.size[0]] = 0.0
    for e in range(0, leaving, TOGETHER):
        last = min(e + TOGETHER, leaving)
        leave_carrying(active_set, waiting.points[e:last], waiting.shift[e:last], right, spare)
    lacking, smallest = np.empty(TOGETHER), np.inf
    for e in range(0, entering.shape[0], TOGETHER):
        new = entering[e : min(e + TOGETHER, entering.shape[0])]
        for f in range(new.shape[0]):
            row = gram.matrix[new[f]]
            lacking[f] = lacks(solution, levels, new[f])
            for g in range(leaving):
                lacking[f] -= row[waiting.points[g]] * waiting.shift[g]
        complement = join_carrying(gram.matrix, gram.diagonal, active_set, new, lacking, right, spare)
        smallest = min(smallest, complement)
    return smallest


@njit(cache=True)
def correct(
    gram: SignedGram, solution: DualSolution, levels: Levels, active_set: ActiveSet, waiting: Waiting, before: DualSolution,
    rounds: int, look: Array,
) -> int:  # fmt: skip
    """Solve from the states as guessed; returns the rounds used, or -1 when it gave up (all arrays are then unusable).

    `before`: the solution before the points that wait were moved. Rounds look at the margins of the active points and of those
    within `look`, a (1,) array that is adapted, of a level; once nothing changes among them, all margins are computed from
    `before`, and who has crossed a level joins. With l points listed a round costs O(n l + |A|^2), the last step O(n |A|), and a
    change of state O(|A|^2).
    """
    n, capacity = solution.a.shape[0], active_set.U.shape[0]
    spare, right, carried = np.empty((TOGETHER, capacity)), np.empty(capacity), False
    entering = np.empty(n, dtype=np.int64)
    one, room, listed = np.zeros(1, dtype=np.int64), np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    near = NearList(np.empty(n, dtype=np.int64), listed, one, nothing_moved(n), room, look)
    list_near(near, solution, levels, active_set.position)
    keep_listed(near, waiting.points, waiting.size[0])
    farthest = 0.0
    for used in range(rounds):
        if not carried:
            right_side(gram, solution, levels, active_set, waiting, right)
        carried = True
        farthest = max(farthest, answer(gram, solution, levels, active_set, waiting, near, right))
        beyond_bounds(solution, levels, active_set, waiting)
        leaving = waiting.size[0]
        joining = across_levels(solution, levels, active_set.position, gram.diagonal, near, entering)
        keep_listed(near, waiting.points, leaving)
        if leaving + joining == 0:
            if farthest > FAR:
                exact_margins(gram, solution, before)
                carried = False
            else:
                far_margins(gram, solution, active_set, before, near)
            if farthest > LARGE:  # a wrong guess moved nearly dependent points far, and the next one back: once more
                farthest = 0.0
                continue
            listed = near.size[0]
            near.size[0] = n
            for i in range(n):
                near.which[i] = i
            joining = across_levels(solution, levels, active_set.position, gram.diagonal, near, entering)
            if joining == 0:
                look[0] *= NARROWER if listed > MOST_LISTED * n else 1.0
                return used + 1
            look[0] *= WIDER
            list_near(near, solution, levels, active_set.position)
        if active_set.size[0] - leaving + joining >= capacity:
            return -1
        if exchange(gram, solution, levels, active_set, waiting, entering[:joining], right, spare) < DEPENDENT:
            return -1
    return -1
