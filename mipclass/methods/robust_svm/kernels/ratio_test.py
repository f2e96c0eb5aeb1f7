"""The ratio test of the homotopy: which point has to change its state first, when, and to which state."""

from __future__ import annotations

import numpy as np
from numba import njit

from ....arrays import Array, Mask
from .active_set import ActiveSet
from .compiled import inner_kernel
from .legs import LEVELS, RISE, Change, Clock, Leg, Motion
from .partition import EDGE, LEFT, OUT, RIGHT, TIE_IN, TIE_OUT, DualSolution, Levels

NOISE = 1e-15  # rates below this, relative to the sum of the sizes of the terms they were summed from, are rounding
NO_STEP = 1e-15  # a step in t up to this length makes no progress
STUCK = 50  # changes of state without progress after which candidates at no distance are taken in random order
MULTIPLIER, MODULUS = 16807.0, 2147483647.0  # the "minimal standard" generator of Park and Miller (1988)


@inner_kernel
def wins_draw(clock: Clock) -> bool:
    """Whether one more candidate at no distance wins: each of those seen so far is left with equal probability."""
    clock.random[0] = (clock.random[0] * MULTIPLIER) % MODULUS
    clock.equals[0] += 1.0
    return clock.random[0] * clock.equals[0] < MODULUS


# Inlined, because it is asked of every point: a call would hand over all arrays of the clock each time.
@njit(cache=True, inline="always")
def comes_first(x: float, step: float, is_stuck: bool, clock: Clock) -> bool:
    """Whether a change at distance x comes before the one at `step`.

    Once the leg is stuck, each of the candidates at no distance is taken with equal probability: points that meet their
    bounds together could otherwise follow each other in and out for ever.
    """
    return x < step if x > NO_STEP or not is_stuck else wins_draw(clock)


@inner_kernel
def first_of_active(
    solution: DualSolution, levels: Levels, active_set: ActiveSet, da: Array, end: float, clock: Clock
) -> Change:  # fmt: skip
    """The first active point whose multiplier meets a bound at a distance below `end`."""
    a, state, active, C = solution.a, solution.state, active_set.active, levels.C
    step, who, to = end, -1, -1
    is_stuck = clock.idle[0] >= STUCK
    for c in range(active_set.size[0]):
        i = active[c]
        s = state[i]
        x = np.inf
        target = -1
        if s == EDGE:
            if da[c] < 0.0:
                x, target = -a[i] / da[c], RIGHT
            elif da[c] > 0.0:
                x, target = (C[i] - a[i]) / da[c], LEFT
        elif s == TIE_IN:
            if da[c] < 0.0:
                x, target = (C[i] - a[i]) / da[c], LEFT
        elif da[c] > 0.0:
            x, target = (levels.out_level[i] - a[i]) / da[c], OUT
        if comes_first(x, step, is_stuck, clock):
            step, who, to = max(x, 0.0), i, target
    return Change(step, who, to)


@inner_kernel
def first_of_others(
    solution: DualSolution, levels: Levels, position: Array, leg: Leg, dm: Array, noise: Array, mass: float,
    blocked: Mask, last: int, first: Change, clock: Clock,
) -> Change:  # fmt: skip
    """The first inactive point whose margin meets a level before `first`, else `first`.

    The driven point of a RISE lands on the edge where m meets p with a >= 0, or right of it where a meets 0 with m >= p.
    Point `last` and blocked points are passed over. `noise` times `mass` is the size below which dm is rounding.
    """
    a, m, state = solution
    p, q, dp, dq, moving = levels.p, levels.q, leg.dp, leg.dq, leg.moving
    step, who, to = first
    is_stuck = clock.idle[0] >= STUCK
    rate_of_moving = leg.v[0] if leg.kind == RISE else 0.0
    for i in range(a.shape[0]):
        s = state[i]
        if position[i] >= 0 or i == last or blocked[i]:
            continue
        least = NOISE * noise[i] * mass
        if s in (RIGHT, LEFT):
            up = 1.0 if s == LEFT else -1.0
            rate = up * (dm[i] - dp[i])
            if rate > least:
                x = up * (p[i] - m[i]) / rate
                if comes_first(x, step, is_stuck, clock):
                    step, who, to = max(x, 0.0), i, EDGE
        if s in (LEFT, OUT):
            up = 1.0 if s == OUT else -1.0
            rate = up * (dm[i] - dq[i])
            if rate > least:
                x = up * (q[i] - m[i]) / rate
                if comes_first(x, step, is_stuck, clock):
                    step, who, to = max(x, 0.0), i, TIE_OUT if s == OUT else TIE_IN
        if i == moving:
            x = (p[i] - m[i]) / dm[i] if dm[i] > least else (0.0 if m[i] >= p[i] else np.inf)
            x = max(x, 0.0)
            target = EDGE
            if a[i] + x * rate_of_moving < 0.0:
                x, target = -a[i] / rate_of_moving, RIGHT
            if comes_first(x, step, is_stuck, clock):
                step, who, to = x, i, target
    return Change(step, who, to)


@inner_kernel
def first_change(
    solution: DualSolution, levels: Levels, active_set: ActiveSet, leg: Leg, motion: Motion, root: Array, mass: float,
    moves: bool, blocked: Mask, last: int, clock: Clock,
) -> Change:  # fmt: skip
    """The next change of state; `moves`: whether margins move at all (dm is then their rate).

    `root` is sqrt(Q_ii) and `mass` the sum over j of |da_j| sqrt(Q_jj): their product bounds the terms of dm_i.
    """
    clock.equals[0] = 0.0
    first = first_of_active(solution, levels, active_set, motion.da, leg.t_end - clock.t[0], clock)
    if moves or leg.kind == LEVELS:  # margins and levels move against each other
        if not moves:
            motion.dm[:] = 0.0
        first = first_of_others(
            solution, levels, active_set.position, leg, motion.dm, root, mass, blocked, last, first, clock
        )
    j = leg.moving
    if leg.kind == RISE and not moves and solution.m[j] >= levels.p[j]:
        # Margins stand still while the multiplier of j grows: j lands where the multiplier meets 0.
        x = max(-solution.a[j] / leg.v[0], 0.0)
        if comes_first(x, first.step, clock.idle[0] >= STUCK, clock):
            first = Change(x, j, RIGHT if solution.a[j] < 0.0 else EDGE)
    return first
