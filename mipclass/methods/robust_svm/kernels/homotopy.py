"""Exact piecewise-linear homotopy of a support vector machine's multipliers with cut-offs.

The points on the edge and those tied at the cut-off form the active set A (see partition for the states). A leg moves the
driven multipliers by v per unit of t and the levels by dp, dq; A answers with da_A = inv(Q_AA)(dl_A - (Qv)_A), where dl is
dp on the edge and dq at the cut-off, the margins move by dm = Qv + Q_{:,A} da_A, and the leg is straight until a point has
to change its state.
"""

from __future__ import annotations

import numpy as np

from ....arrays import Array, Mask
from ....kernels.decorator import njit
from .active_set import ActiveSet, drop_last, leave
from .compiled import inner_kernel
from .legs import (
    BUDGET,
    CONTINUOUS,
    FACTOR_FULL,
    FINISHED,
    LEVELS,
    LOG_FULL,
    OUTSIDE,
    STALLED,
    TIED,
    Ball,
    Change,
    Clock,
    Leg,
    Log,
    Motion,
    Pending,
    is_full,
    keep,
    no_changes,
    note,
)  # fmt: skip
from .nearness import FEWEST, Near, is_worn, look_at_all, make_list, new_list, next_radius, stays_within
from .operations import catch_up, join, lies_in_span, rates, stands_still
from .operators import Operator
from .partition import EDGE, LEFT, MOVING, RIGHT, TIE_IN, DualSolution, Levels
from .ratio_test import NO_STEP, first_change

# A leg has stalled after this many changes of state without progress per active point, and per point of SPARE_POINTS.
MOST_IDLE, SPARE_POINTS = 4, 100
CHANGED, LANDED, BLOCKED = 0, 1, 2  # what became of a point that had to change its state


@inner_kernel
def driven_mass(leg: Leg, root: Array) -> float:
    """sum_j |v_j| sqrt(Q_jj) over the driven points."""
    total = 0.0
    for e in range(leg.v.shape[0]):
        total += abs(leg.v[e]) * root[leg.v_index[e]]
    return total


@inner_kernel
def advance(x: Array, step: float, dx: Array) -> None:
    """x <- x + step dx."""
    for i in range(x.shape[0]):
        x[i] += step * dx[i]


@inner_kernel
def walk(
    solution: DualSolution, levels: Levels, active_set: ActiveSet, leg: Leg, motion: Motion, step: float, moves: bool,
    near: Near,
) -> None:  # fmt: skip
    """Advance multipliers, the margins of the points near and levels by `step`.

    The multipliers of outliers, which are C theta, are left to the caller of a CONTINUOUS leg.
    """
    a, m = solution.a, solution.m
    for c in range(active_set.size[0]):
        a[active_set.active[c]] += step * motion.da[c]
    if leg.kind != CONTINUOUS:
        for e in range(leg.v.shape[0]):
            a[leg.v_index[e]] += step * leg.v[e]
    if moves and step > 0.0:
        if near.size[0] < m.shape[0]:
            for e in range(near.size[0]):
                m[near.which[e]] += step * motion.dm[near.which[e]]
            advance(near.way, step, motion.dw)
        else:
            advance(m, step, motion.dm)
    if leg.kind == LEVELS:
        advance(levels.p, step, leg.dp)
        advance(levels.q, step, leg.dq)


@inner_kernel
def put_at_bound(
    solution: DualSolution, levels: Levels, active_set: ActiveSet, who: int, to: int, spare: Array
) -> None:
    """Take an active point out of the active set; its multiplier goes to the value of its new state."""
    one = np.empty(1, dtype=np.int64)
    one[0] = who
    leave(active_set, one, spare)
    solution.state[who] = to
    solution.a[who] = 0.0 if to == RIGHT else (levels.C[who] if to == LEFT else levels.out_level[who])


@inner_kernel
def record(
    log: Log, pending: Pending, active_set: ActiveSet, change: Change, da: Array, way: Array, stays: bool, t: float
) -> None:  # fmt: skip
    """Log the event of a CONTINUOUS leg; it is a breakpoint unless w stays where it was at the last breakpoint.

    While w stays (a vertex where more margins are at their level than there are directions), multipliers on the straight
    line across the events are as good, and only the last one is kept.
    """
    if not stays and pending.size[0] > 0:
        keep(log, pending)
    note(log, pending, active_set, change, da, t)
    if not stays or change.who < 0 or change.to >= TIE_IN:
        keep(log, pending)
        way[:] = 0.0


@inner_kernel
def change_state(
    operator: Operator, solution: DualSolution, levels: Levels, active_set: ActiveSet, leg: Leg, change: Change, blocked: Mask,
    spare: Array,
) -> int:  # fmt: skip
    """Give point change.who its new state: CHANGED, LANDED (it was the driven point) or BLOCKED (it lies in A's span)."""
    who, to = change.who, change.to
    landed = solution.state[who] == MOVING
    if to >= TIE_IN or to == EDGE:
        complement = join(operator, active_set, who, spare)
        if leg.kind != LEVELS and not landed and lies_in_span(operator, complement):
            drop_last(active_set)
            blocked[who] = True
            return BLOCKED
        solution.state[who] = to
    elif landed:
        solution.state[who] = RIGHT
        solution.a[who] = 0.0
    else:
        put_at_bound(solution, levels, active_set, who, to, spare)
        blocked[:] = False
    return LANDED if landed else CHANGED


@njit(cache=True)
def follow(
    operator: Operator, solution: DualSolution, levels: Levels, active_set: ActiveSet, leg: Leg, log: Log, clock: Clock, ball: Ball
) -> tuple[int, int]:  # fmt: skip
    """Follow one leg from clock.t to leg.t_end; returns (why it stopped, the point that tied or stalled, or -1).

    A step that would leave the ball is not made.

    In a CONTINUOUS leg every change of state is logged. With k active points each event costs O(n k) for a Gram matrix, and
    for rows O(l d + k^2) with l points listed as near, and O(n d) where the list is made anew.
    """
    n, capacity = solution.a.shape[0], active_set.U.shape[0]
    root, continuous = operator.root, leg.kind == CONTINUOUS
    motion = Motion(np.empty(capacity), np.empty(n), np.empty(operator.features.shape[0]))
    way = np.zeros(motion.dw.shape[0])  # of w since the last breakpoint
    pending = no_changes(n if continuous else 0)
    spare = np.empty((1, capacity))
    blocked = np.zeros(n, dtype=np.bool_)  # points in A's span: their margins cannot move until a point leaves A
    driven = driven_mass(leg, root)
    last, code, point = -1, BUDGET, -1
    near = new_list(n, motion.dw.shape[0])
    lists = leg.kind != LEVELS and n >= FEWEST and ball.look[0] < np.inf
    if lists:
        make_list(near, solution, levels, active_set, root, ball.look[0])
    else:
        look_at_all(near)
    for _ in range(leg.budget):
        k = active_set.size[0]
        if k >= capacity:
            code = FACTOR_FULL
            break
        if continuous and is_full(log, pending, k):
            code = LOG_FULL
            break
        mass, moves = rates(operator, solution.state, active_set, leg, driven, motion, near)
        change = first_change(solution, levels, active_set, leg, motion, root, mass, moves, blocked, last, clock, near)
        near.visits[0] += near.size[0]
        if lists and moves and is_worn(near, motion.dw, change.step):
            radius = next_radius(near, motion.dw, change.step)
            catch_up(operator, near, solution.m)
            make_list(near, solution, levels, active_set, root, radius)
            continue
        if moves and not stays_within(ball.way, motion.dw, change.step, ball.radius[0]):
            code = OUTSIDE
            break
        walk(solution, levels, active_set, leg, motion, change.step, moves, near)
        if moves:
            advance(ball.way, change.step, motion.dw)
        clock.t[0] += change.step
        clock.changes[0] += 1
        if continuous:
            if moves:
                advance(way, change.step, motion.dw)
            stays = stands_still(operator, way)
            record(log, pending, active_set, change, motion.da, way, stays, clock.t[0])
        if change.who < 0:
            clock.t[0] = leg.t_end
            code = FINISHED
            break
        if continuous and change.to >= TIE_IN:
            code, point = TIED, change.who
            break
        outcome = change_state(operator, solution, levels, active_set, leg, change, blocked, spare)
        if outcome == LANDED:
            code = FINISHED
            break
        # Rounding may ask a point that left at once straight back in: the leg advances first.
        last = change.who if change.step == 0.0 and active_set.position[change.who] < 0 and outcome == CHANGED else -1
        if outcome == CHANGED:
            clock.idle[0] = clock.idle[0] + 1 if change.step <= NO_STEP else 0
        if clock.idle[0] > MOST_IDLE * (k + SPARE_POINTS):
            clock.idle[0] = 0
            code, point = STALLED, change.who
            break
    keep(log, pending)
    catch_up(operator, near, solution.m)
    if lists:
        ball.look[0] = near.radius[0]
    return code, point
