"""The ratio test of the homotopy: which point has to change its state first, when, and to which state."""

from __future__ import annotations

import numpy as np

from ....arrays import Array, Mask
from ....kernels.decorator import njit
from .active_set import ActiveSet
from .compiled import inner_kernel
from .legs import LEVELS, RISE, Change, Clock, Leg, Motion
from .nearness import Near
from .partition import EDGE, LEFT, MOVING, OUT, RIGHT, TIE_IN, TIE_OUT, DualSolution, Levels

NOISE = 1e-15  # rates below this, relative to the sum of the sizes of the terms they were summed from, are rounding
NO_STEP = 1e-15  # a step in t up to this length makes no progress
STUCK = 50  # changes of state without progress after which candidates at no distance are taken in random order
# A product and a quotient that stand for the same comparison differ by at most two roundings: this factor covers them.
ROUNDING = 1.0 + 1e-15
# The direction in which m - p (m - q) moves when a point of each state comes to the edge (the cut-off); 0: it cannot.
TOWARDS_EDGE = np.zeros(MOVING + 1)
TOWARDS_EDGE[RIGHT], TOWARDS_EDGE[LEFT] = -1.0, 1.0
TOWARDS_CUT = np.zeros(MOVING + 1)
TOWARDS_CUT[LEFT], TOWARDS_CUT[OUT] = -1.0, 1.0
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
    solution: DualSolution, levels: Levels, leg: Leg, dm: Array, noise: Array, mass: float, blocked: Mask, last: int,
    first: Change, clock: Clock, near: Near,
) -> Change:  # fmt: skip
    """The first inactive point near whose margin meets a level before `first`, else `first`.

    Point `last` and blocked points are passed over, and points at the origin, whose multiplier moves no margin while a level passes theirs.
    `noise` (sqrt(Q_ii)) times `mass` is the size below which dm is rounding. Nearly all points fail the test, in an order that no
    processor can foresee: so the test is made of products, without a branch for the state, the direction or a division, and only who
    passes it is looked at more closely.
    """
    m, state = solution.m, solution.state
    p, q, dp, dq = levels.p, levels.q, leg.dp, leg.dq
    step, who, to = first
    is_stuck = clock.idle[0] >= STUCK
    least_reach = NO_STEP if is_stuck else 0.0  # a leg that is stuck draws among all candidates at no distance
    reach = ROUNDING * max(step, least_reach)
    for e in range(near.size[0]):
        i = near.which[e]
        s = state[i]
        least = NOISE * noise[i] * mass
        up, down = TOWARDS_EDGE[s], TOWARDS_CUT[s]
        edge_rate, edge_gap = up * (dm[i] - dp[i]), up * (p[i] - m[i])
        cut_rate, cut_gap = down * (dm[i] - dq[i]), down * (q[i] - m[i])
        meets_edge = (edge_rate > least) & (edge_gap <= reach * edge_rate)
        meets_cut = (cut_rate > least) & (cut_gap <= reach * cut_rate)
        if not (meets_edge | meets_cut) or i == last or blocked[i] or noise[i] == 0.0:
            continue
        if meets_edge:
            x = edge_gap / edge_rate
            if comes_first(x, step, is_stuck, clock):
                step, who, to = max(x, 0.0), i, EDGE
        if meets_cut:
            x = cut_gap / cut_rate
            if comes_first(x, step, is_stuck, clock):
                step, who, to = max(x, 0.0), i, TIE_OUT if s == OUT else TIE_IN
        reach = ROUNDING * max(step, least_reach)
    return Change(step, who, to)


@inner_kernel
def landing(solution: DualSolution, levels: Levels, leg: Leg, dm: Array, least: float) -> Change:
    """Where the driven point j of a RISE lands while margins move at the rates dm, of which those below `least` are rounding.

    It lands on the edge where m meets p with a >= 0, or right of it where a meets 0 with m >= p.
    """
    j, rate = leg.moving, leg.v[0]
    a, m, p = solution.a[j], solution.m[j], levels.p[j]
    x = (p - m) / dm[j] if dm[j] > least else (0.0 if m >= p else np.inf)
    x = max(x, 0.0)
    if a + x * rate < 0.0:
        return Change(-a / rate, j, RIGHT)
    return Change(x, j, EDGE)


@inner_kernel
def first_change(
    solution: DualSolution, levels: Levels, active_set: ActiveSet, leg: Leg, motion: Motion, root: Array, mass: float,
    moves: bool, blocked: Mask, last: int, clock: Clock, near: Near,
) -> Change:  # fmt: skip
    """The next change of state; `moves`: whether margins move at all (dm is then their rate).

    `root` is sqrt(Q_ii) and `mass` the sum over j of |da_j| sqrt(Q_jj): their product bounds the terms of dm_i.
    """
    clock.equals[0] = 0.0
    first = first_of_active(solution, levels, active_set, motion.da, leg.t_end - clock.t[0], clock)
    if moves or leg.kind == LEVELS:  # margins and levels move against each other
        if not moves:
            motion.dm[:] = 0.0
        first = first_of_others(solution, levels, leg, motion.dm, root, mass, blocked, last, first, clock, near)
    j = leg.moving
    if leg.kind != RISE:
        return first
    if moves:
        lands = landing(solution, levels, leg, motion.dm, NOISE * root[j] * mass)
    elif solution.m[j] >= levels.p[j]:
        # Margins stand still while the multiplier of j grows: j lands where the multiplier meets 0.
        lands = Change(max(-solution.a[j] / leg.v[0], 0.0), j, RIGHT if solution.a[j] < 0.0 else EDGE)
    else:
        return first
    return lands if comes_first(lands.step, first.step, clock.idle[0] >= STUCK, clock) else first
