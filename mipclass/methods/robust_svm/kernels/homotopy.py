"""Exact piecewise-linear homotopy of a support vector machine's multipliers with cut-offs.

Every index has a state. With margins m = Qa, inlier level p_i (about 1) and cut-off q_i (about s):

    RIGHT   a = 0,        m >= p          EDGE   m = p, 0 <= a <= C
    LEFT    a = C, q <= m <= p            OUT    a = C theta, m <= q
    TIE_IN  m = q, a >= C (inlier)        TIE_OUT  m = q, a <= C theta (outlier)        MOVING   a driven by v

EDGE, TIE_IN and TIE_OUT form the active set A, whose matrix has the factor U (see cholesky_update). A leg moves the
driven multipliers by v per unit of t and the levels by dp, dq; A answers with da_A = inv(Q_AA)(dl_A - (Qv)_A), the margins
move by dm = Qv + Q_{:,A} da_A, and the leg is straight until an index has to change its state.

The data come as one matrix: either rows y_i x_i (linear; then Q_ij = Z_i.Z_j + ridge_i [i=j]) or Q itself with the ridge
already on its diagonal. Rows with many zeros come once more in compressed form (see rows).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ....arrays import Array, Index
from ....numeric.cholesky_update import append, delete, dot, solve_lower, solve_upper
from .rows import Rows, add_rows, all_products, combine_rows, dot_rows

States = NDArray[np.int8]

RIGHT, EDGE, LEFT, OUT, TIE_IN, TIE_OUT, MOVING = 0, 1, 2, 3, 4, 5, 6
LEVELS, CONTINUOUS, FALL, RISE = 0, 1, 2, 3  # what a leg does: move levels, fall in theta, drive one point out or in
FINISHED, TIED, LOG_FULL, FACTOR_FULL, STALLED, BUDGET = 0, 1, 2, 3, 4, 5  # why a leg stopped

NOISE = 1e-15  # rates below this, relative to the terms they were summed from, are rounding
STILL = 1e-14  # a move of w below this share of the mass is rounding: margins stand still
PIVOT = 2e-14  # kernel case: smallest Schur complement kept in the factor, relative to the diagonal
DEPENDENT = (
    1e-24  # linear case: a row whose part outside the span of the active rows is smaller (squared) lies in the span
)
DRIFT = 1e-9  # margins nearer than this are the same: the levels of tied points differ by such shifts
NO_STEP = 1e-15
STUCK = 50  # changes without a step before their order becomes random

# Registers of a leg's clock: t, changes of state, those since the last step, the random number, equals met in this ratio test.
T, CHANGES, IDLE, RANDOM, EQUALS = 0, 1, 2, 3, 4
CLOCK = 5
MODULUS = 2147483647.0


@njit(cache=True)
def column_on_active(Z: Array, linear: bool, active: Index, k: int, j: int, out: Array) -> None:
    """out[c] = Q[active[c], j] for an index j outside the active set."""
    row = Z[j]
    for c in range(k):
        out[c] = dot(Z[active[c]], row) if linear else row[active[c]]


@njit(cache=True)
def join_row(
    Z: Array, rows: Rows, diagonal: Array, active: Index, position: Index, count: Index, U: Array, j: int, spare: Array
) -> float:  # fmt: skip
    """`join` for one row of a linear kernel; returns |part of Z_j outside the span|^2 / |Z_j|^2.

    The part outside is found by projecting twice (corrected semi-normal equations), so that it is right to rounding even
    where Q_jj - |l|^2 would cancel: rows with features of very different size.
    """
    k = count[0]
    outside = Z[j].copy()
    total = np.zeros(k)
    step = spare[0]
    for _ in range(2):
        dot_rows(Z, rows, active, k, outside, step)
        solve_lower(U, k, step)
        for c in range(k):
            total[c] += step[c]
        solve_upper(U, k, step)
        for c in range(k):
            step[c] = -step[c]
        add_rows(Z, rows, active, step, k, outside)
    complement = dot(outside, outside)
    for c in range(k):
        U[c, k] = total[c]
    U[k, k] = np.sqrt(max(complement, DEPENDENT * diagonal[j]))
    active[k] = j
    position[j] = k
    count[0] = k + 1
    return complement / diagonal[j]


@njit(cache=True)
def join(
    Z: Array, rows: Rows, linear: bool, diagonal: Array, active: Index, position: Index, count: Index, U: Array, new: Index, spare: Array
) -> float:  # fmt: skip
    """Put the indices `new` at the end of the active set; returns their smallest Schur complement relative to Q_jj."""
    if linear:
        smallest = np.inf
        for e in range(new.shape[0]):
            smallest = min(smallest, join_row(Z, rows, diagonal, active, position, count, U, new[e], spare))
        return smallest
    k = count[0]
    q = new.shape[0]
    corner = np.empty((q, q))
    floor = np.empty(q)
    for e in range(q):
        column_on_active(Z, linear, active, k, new[e], spare[e])
        column_on_active(Z, linear, new, q, new[e], corner[e])
        corner[e, e] = diagonal[new[e]]
        floor[e] = PIVOT * diagonal[new[e]]
    smallest = append(U, k, spare[:q], corner, floor)
    for e in range(q):
        active[k + e] = new[e]
        position[new[e]] = k + e
    count[0] = k + q
    return smallest * PIVOT


@njit(cache=True)
def leave(active: Index, position: Index, count: Index, U: Array, old: Index, spare: Array) -> None:
    """Take the indices `old` out of the active set; their order does not matter."""
    k = count[0]
    removed = np.empty(old.shape[0], dtype=np.int64)
    for e in range(old.shape[0]):
        removed[e] = position[old[e]]
        position[old[e]] = -1
    removed.sort()
    delete(U, k, removed, spare)
    to = removed[0]
    for c in range(removed[0] + 1, k):
        if position[active[c]] >= 0:
            active[to] = active[c]
            position[active[to]] = to
            to += 1
    count[0] = to


@njit(cache=True)
def rates(
    Z: Array, rows: Rows, columns: Array, linear: bool, state: States, active: Index, k: int, U: Array, drive: Array, g: Array, dp: Array,
    dq: Array, root: Array, driven: float, da: Array, dm: Array, dw: Array, features: Index,
) -> tuple[float, bool]:  # fmt: skip
    """da_A = inv(Q_AA)(dl_A - g_A) and dm = g + Q_{:,A} da_A, where g = Qv and dl is dp on the edge, dq on ties.

    In the linear case `drive` is Z'v and g is not used; `columns` is Z', `features` = 0, 1, ... and dw scratch.

    Returns the mass sum_j |da_j| sqrt(Q_jj) (which includes `driven`, that of v) against which rounding is judged, and
    whether w moves at all: when the active rows span the space it does not, and dm is left alone.
    """
    if linear:
        dot_rows(Z, rows, active, k, drive, da)
    for c in range(k):
        i = active[c]
        da[c] = (dp[i] if state[i] == EDGE else dq[i]) - (da[c] if linear else g[i])
    solve_lower(U, k, da)
    solve_upper(U, k, da)
    mass = driven
    for c in range(k):
        mass += abs(da[c]) * root[active[c]]
    if linear:
        dw[:] = drive
        add_rows(Z, rows, active, da, k, dw)
        # One step of refinement: da solves a least-squares problem whose conditioning the normal equations square.
        rest = np.empty(k)
        dot_rows(Z, rows, active, k, dw, rest)
        for c in range(k):
            i = active[c]
            rest[c] = (dp[i] if state[i] == EDGE else dq[i]) - rest[c]
        solve_lower(U, k, rest)
        solve_upper(U, k, rest)
        add_rows(Z, rows, active, rest, k, dw)
        for c in range(k):
            da[c] += rest[c]
        if dot(dw, dw) <= (STILL * mass) ** 2:
            return mass, False
        if rows[0].shape[0]:
            all_products(rows, dw, dm)
        else:
            dm[:] = 0.0
            combine_rows(columns, features, dw, dw.shape[0], dm)
    else:
        dm[:] = g
        combine_rows(Z, active, da, k, dm)
    for c in range(k):
        i = active[c]
        dm[i] = dp[i] if state[i] == EDGE else dq[i]
    return mass, True


@njit(cache=True)
def comes_first(x: float, step: float, clock: Array) -> bool:
    """Whether a change at distance x comes before the one at `step`; among many at no distance any one, once the leg is stuck there.

    Points that meet their bounds together can otherwise follow each other in and out for ever.
    """
    if x > NO_STEP or clock[IDLE] < STUCK:
        return x < step
    clock[RANDOM] = (clock[RANDOM] * 16807.0) % MODULUS  # a random number below the modulus
    clock[EQUALS] += 1.0
    return clock[RANDOM] * clock[EQUALS] < MODULUS


@njit(cache=True)
def first_of_active(
    a: Array, C: Array, out_level: Array, state: States, active: Index, k: int, da: Array, step: float, clock: Array
) -> tuple[float, int, int]:  # fmt: skip
    """The first active index whose multiplier meets a bound before `step`: (when, which, its new state), or (step, -1, -1)."""
    who, to = -1, -1
    for c in range(k):
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
            x, target = (out_level[i] - a[i]) / da[c], OUT
        if comes_first(x, step, clock):
            step, who, to = max(x, 0.0), i, target
    return step, who, to


@njit(cache=True)
def first_of_others(
    a: Array, m: Array, p: Array, q: Array, state: States, position: Index, blocked: NDArray[np.bool_], last: int, dm: Array, dp: Array,
    dq: Array, root: Array, mass: float, moving: int, rate_of_moving: float, step: float, who: int, to: int, clock: Array,
) -> tuple[float, int, int]:  # fmt: skip
    """The first other index whose margin meets a level before `step`: (when, which, its new state), else what is known already.

    `moving` is a point whose multiplier rises at its rate: it lands on the edge where m meets p with a >= 0, or right of it where a
    meets 0 with m >= p. `last` and blocked points have no say.
    """
    for i in range(a.shape[0]):
        s = state[i]
        if position[i] >= 0 or i == last or blocked[i]:
            continue
        noise = NOISE * root[i] * mass
        if s in (RIGHT, LEFT):
            up = 1.0 if s == LEFT else -1.0
            rate = up * (dm[i] - dp[i])
            if rate > noise:
                x = up * (p[i] - m[i]) / rate
                if comes_first(x, step, clock):
                    step, who, to = max(x, 0.0), i, EDGE
        if s in (LEFT, OUT):
            up = 1.0 if s == OUT else -1.0
            rate = up * (dm[i] - dq[i])
            if rate > noise:
                x = up * (q[i] - m[i]) / rate
                if comes_first(x, step, clock):
                    step, who, to = max(x, 0.0), i, TIE_OUT if s == OUT else TIE_IN
        if i == moving:
            x = (p[i] - m[i]) / dm[i] if dm[i] > noise else (0.0 if m[i] >= p[i] else np.inf)
            x = max(x, 0.0)
            target = EDGE
            if a[i] + x * rate_of_moving < 0.0:
                x, target = -a[i] / rate_of_moving, RIGHT
            if comes_first(x, step, clock):
                step, who, to = x, i, target
    return step, who, to


@njit(cache=True)
def keep(
    pending: Array, listed: NDArray[np.bool_], touched: Index, counts: Index, log_kept: Index, log_start: Index, log_which: Index, log_change: Array,
    log_count: Index,
) -> None:  # fmt: skip
    """Make the last event of the log a breakpoint, with the changes that are pending."""
    e = log_count[0]
    if pending.shape[0] == 0 or e == 0:
        return
    to = log_count[1]
    for c in range(counts[0]):
        i = touched[c]
        log_which[to + c] = i
        log_change[to + c] = pending[i]
        pending[i] = 0.0
        listed[i] = False
    log_count[1] = to + counts[0]
    log_start[e] = log_count[1]
    log_kept[e - 1] = 1
    counts[0] = 0


@njit(cache=True)
def follow(
    Z: Array, rows: Rows, columns: Array, linear: bool, ridge: Array, diagonal: Array, a: Array, m: Array, p: Array, q: Array, C: Array, out_level: Array,
    state: States, active: Index, position: Index, count: Index, U: Array,
    kind: int, moving: int, v_index: Index, v: Array, drive: Array, g: Array, dp: Array, dq: Array, clock: Array, t_end: float,
    budget: int, log_t: Array, log_index: Index, log_state: Index, log_kept: Index, log_start: Index, log_which: Index,
    log_change: Array, log_count: Index,
) -> tuple[int, int]:  # fmt: skip
    """Follow one leg from clock[T] to t_end; returns (why it stopped, the index of a tie or -1).

    `v_index`, `v`: the driven multipliers and their rates; `drive`: Z'v (linear case), `g`: Qv (kernel case). In a CONTINUOUS leg
    every change of state is logged; log_count = [events, entries]. Events marked in log_kept are breakpoints and come with
    the change of the multipliers since the one before. Between the others w stands still (a vertex where more margins are
    at their level than there are directions): multipliers on the straight line across them are as good.
    Each event costs O(n d + k^2) (linear) or O(n k) (kernel).
    """
    n = a.shape[0]
    cap = U.shape[0]
    da = np.empty(cap)
    spare = np.empty((1, cap))
    one = np.empty(1, dtype=np.int64)
    dm = np.empty(n)
    dw = np.empty(Z.shape[1])
    root = np.sqrt(diagonal)
    features = np.arange(Z.shape[1])
    driven = 0.0
    for e in range(v.shape[0]):
        driven += abs(v[e]) * root[v_index[e]]
    last = -1
    blocked = np.zeros(
        n, dtype=np.bool_
    )  # rows in the span of the active ones: their margins cannot move until those change
    any_blocked = False
    pending = np.zeros(n if kind == CONTINUOUS else 0)  # change of the multipliers since the last breakpoint
    listed = np.zeros(pending.shape[0], dtype=np.bool_)
    touched = np.empty(pending.shape[0], dtype=np.int64)
    counts = np.zeros(1, dtype=np.int64)  # entries of `touched`
    way = np.zeros(Z.shape[1])  # of w since the last breakpoint
    widest = root.max()
    stays = False
    for _ in range(budget):
        k = count[0]
        if k >= cap:
            keep(pending, listed, touched, counts, log_kept, log_start, log_which, log_change, log_count)
            return FACTOR_FULL, -1
        full = log_count[1] + 2 * (k + counts[0]) > log_which.shape[0]
        if kind == CONTINUOUS and (full or log_count[0] + 1 >= log_t.shape[0]):
            keep(pending, listed, touched, counts, log_kept, log_start, log_which, log_change, log_count)
            return LOG_FULL, -1
        mass, moves = rates(
            Z, rows, columns, linear, state, active, k, U, drive, g, dp, dq, root, driven, da, dm, dw, features
        )
        if linear and moves:
            for e in range(v.shape[0]):
                dm[v_index[e]] += ridge[v_index[e]] * v[e]
        meets = moves or kind == LEVELS  # whether margins and levels move against each other
        if meets and not moves:
            dm[:] = 0.0
        # Ratio test: the first index that has to change its state, and into which.
        clock[EQUALS] = 0.0
        step, who, to = first_of_active(a, C, out_level, state, active, k, da, t_end - clock[T], clock)
        if meets:
            rises = moving if kind == RISE else -1
            step, who, to = first_of_others(
                a, m, p, q, state, position, blocked, last, dm, dp, dq, root, mass, rises, v[0] if kind == RISE else 0.0,
                step, who, to, clock,
            )  # fmt: skip
        if kind == RISE and not moves and m[moving] >= p[moving]:
            # Margins stand still, but its multiplier grows: it lands where that meets 0.
            x = max(-a[moving] / v[0], 0.0)
            if comes_first(x, step, clock):
                step, who, to = x, moving, RIGHT if a[moving] < 0.0 else EDGE
        # Walk.
        if kind == CONTINUOUS:
            if linear and moves:
                for f in range(dw.shape[0]):
                    way[f] += step * dw[f]
            stays = linear and np.sqrt(dot(way, way)) * widest <= DRIFT
            if not stays and counts[0] > 0:
                keep(pending, listed, touched, counts, log_kept, log_start, log_which, log_change, log_count)
        for c in range(k):
            a[active[c]] += step * da[c]
        for e in range(v.shape[0]):
            a[v_index[e]] += step * v[e]
        if moves and step > 0.0:
            for i in range(n):
                m[i] += step * dm[i]
        if kind == LEVELS:
            for i in range(n):
                p[i] += step * dp[i]
                q[i] += step * dq[i]
        clock[T] += step
        clock[CHANGES] += 1.0
        if kind == CONTINUOUS:
            for c in range(k):
                i = active[c]
                if not listed[i]:
                    listed[i] = True
                    touched[counts[0]] = i
                    counts[0] += 1
                pending[i] += step * da[c]
            e = log_count[0]
            log_t[e] = clock[T]
            log_index[e] = who
            log_state[e] = to
            log_kept[e] = 0
            log_start[e + 1] = log_count[1]
            log_count[0] = e + 1
            if not stays or who < 0 or to >= TIE_IN:
                keep(pending, listed, touched, counts, log_kept, log_start, log_which, log_change, log_count)
                way[:] = 0.0
        last = -1
        one[0] = who
        if who < 0:
            clock[T] = t_end
            return FINISHED, -1
        if to >= TIE_IN and kind == CONTINUOUS:
            return TIED, who
        if to >= TIE_IN or to == EDGE:
            before = count[0]
            complement = join(Z, rows, linear, diagonal, active, position, count, U, one, spare)
            if linear and kind != LEVELS and complement < DEPENDENT and state[who] != MOVING:
                count[0] = before
                position[who] = -1
                blocked[who] = True
                any_blocked = True
                continue
            landed = state[who] == MOVING
            state[who] = to
            if landed:
                return FINISHED, -1
        elif state[who] == MOVING:
            state[who] = RIGHT
            a[who] = 0.0
            return FINISHED, -1
        else:
            leave(active, position, count, U, one, spare)
            state[who] = to
            if any_blocked:
                blocked[:] = False
                any_blocked = False
            a[who] = 0.0 if to == RIGHT else (C[who] if to == LEFT else out_level[who])
            if step == 0.0:
                last = who  # rounding may ask it straight back in; let the leg advance first
        clock[IDLE] = clock[IDLE] + 1.0 if step <= NO_STEP else 0.0
        if clock[IDLE] > 4 * (k + 100):
            clock[IDLE] = 0.0
            keep(pending, listed, touched, counts, log_kept, log_start, log_which, log_change, log_count)
            return STALLED, who
    keep(pending, listed, touched, counts, log_kept, log_start, log_which, log_change, log_count)
    return BUDGET, -1
