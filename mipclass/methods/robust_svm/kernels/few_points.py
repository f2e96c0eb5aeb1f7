"""The homotopy of a linear rule with few points, in a form that compiles in a fraction of the time.

It takes the same steps as the kernels of homotopy, which every operator and any number of points share. Their many arrays and layers
are what the compiler is slow at: here the numbers of all points are the rows of one array, all points are looked at in every step
and w may go anywhere, which is as fast while the points are few.
"""

from __future__ import annotations

import numpy as np

from ....arrays import Array, Index
from ....kernels.decorator import njit
from ....numeric.cholesky_update import REORDER
from .active_set import DEPENDENT
from .compiled import folded_kernel, plain_kernel
from .legs import (
    BUDGET,
    CONTINUOUS,
    FACTOR_FULL,
    FINISHED,
    KEPT,
    LEVELS,
    LOG_FULL,
    POINT,
    RISE,
    STALLED,
    START,
    STATE,
    TIED,
)  # fmt: skip
from .operations import DRIFT, STILL
from .partition import EDGE, LEFT, MOVING, OUT, RIGHT, TIE_IN, TIE_OUT, States
from .ratio_test import (
    MODULUS,
    MULTIPLIER,
    NO_STEP,
    NOISE,
    ROUNDING,
    STUCK,
    TOWARDS_CUT,
    TOWARDS_EDGE,
)  # fmt: skip

# Rows of `points`, (12, n): multipliers, margins and levels; their rates (of the multipliers, those of driven points alone); the
# multipliers of an inlier and of an outlier, sqrt(Q_ii), and the changes of multipliers since the last breakpoint.
A, M, P, Q, DV, DM, DP, DQ, INNER, OUTER, ROOT, PENDING = range(12)
# Rows of `places`, (4, n + 1): the active points, the place of a point among them or -1, and marks of points that lie in their span
# and of those whose multipliers have changed since the last breakpoint.
ACTIVE, POSITION, BLOCKED, TOUCHED = range(4)
# Rows of `ways`, (5, d): the drive, the rate of w, what w has moved since the last breakpoint and in all, and scratch.
DRIVE, DW, WAY, FAR, OUTSIDE = range(5)
# Rows of `rates`, (4, capacity): of the active multipliers and of their levels, and scratch.
DA, WANTED, REST, TOTAL = range(4)
# Entries of `reals`: the parameter, its end, the state of the random numbers, candidates at no distance, the mass of the driven
# multipliers and of all, the largest sqrt(Q_ii) and the step to the next change of state.
T, T_END, RANDOM, EQUALS, DRIVEN, MASS, WIDEST, STEP = range(8)
# Entries of `counts`: active points, changes of state, those without progress, the kind of the leg, the driven point of a RISE, most
# changes, the events and entries of the log, the points touched, and the next change of state.
SIZE, CHANGES, IDLE, KIND, RISING, MOST, EVENTS, ENTRIES, MARKED, WHO, TO = range(11)

MOST_IDLE, SPARE_POINTS = 4, 100  # a leg has stalled after so many changes of state without progress, as in homotopy


@plain_kernel
def lower(U: Array, k: int, rates: Array) -> None:
    """rest <- inv(U') rest."""
    for c in range(k):
        x = rates[REST, c] / U[c, c]
        rates[REST, c] = x
        for i in range(c + 1, k):
            rates[REST, i] -= x * U[c, i]


@plain_kernel
def upper(U: Array, k: int, rates: Array) -> None:
    """rest <- inv(U) rest."""
    for c in range(k - 1, -1, -1):
        total = rates[REST, c]
        for i in range(c + 1, k):
            total -= U[c, i] * rates[REST, i]
        rates[REST, c] = total / U[c, c]


@njit(cache=True, no_cpython_wrapper=True, fastmath=REORDER, error_model="numpy")
def set_rates(
    points: Array, state: States, places: Index, ways: Array, columns: Array, U: Array, rates: Array, reals: Array, k: int
) -> bool:  # fmt: skip
    """da_A = inv(Q_AA)(dl_A - (Qv)_A), dw = Z'(v + da) and dm = Z dw, where dl is dp on the edge and dq on ties.

    Returns whether w moves at all; `columns` is Z'.
    """
    d, n = columns.shape
    for f in range(d):
        ways[DW, f] = ways[DRIVE, f]
    for c in range(k):
        i = places[ACTIVE, c]
        rates[WANTED, c] = points[DP, i] if state[i] == EDGE else points[DQ, i]
        rates[DA, c] = 0.0
    for turn in range(2):  # the second one refines the first
        for c in range(k):
            rates[REST, c] = rates[WANTED, c]
            for f in range(d):
                rates[REST, c] -= columns[f, places[ACTIVE, c]] * ways[DW, f]
        lower(U, k, rates)
        upper(U, k, rates)
        for c in range(k):
            rates[DA, c] += rates[REST, c]
            for f in range(d):
                ways[DW, f] += rates[REST, c] * columns[f, places[ACTIVE, c]]
        if turn == 0:
            reals[MASS] = reals[DRIVEN]
            for c in range(k):
                reals[MASS] += abs(rates[DA, c]) * points[ROOT, places[ACTIVE, c]]
    length = 0.0
    for f in range(d):
        length += ways[DW, f] * ways[DW, f]
    for i in range(n):
        points[DM, i] = 0.0
    if length <= (STILL * reals[MASS]) ** 2:
        return False
    for f in range(d):
        for i in range(n):
            points[DM, i] += ways[DW, f] * columns[f, i]
    for c in range(k):
        points[DM, places[ACTIVE, c]] = rates[WANTED, c]
    return True


@plain_kernel
def offer(reals: Array, counts: Index, x: float, who: int, to: int) -> None:
    """Take the change of state at distance x if it comes before the one found so far.

    Once the leg is stuck, each of the candidates at no distance is taken with equal probability.
    """
    if x > NO_STEP or counts[IDLE] < STUCK:
        if not x < reals[STEP]:
            return
    else:
        reals[RANDOM] = (reals[RANDOM] * MULTIPLIER) % MODULUS
        reals[EQUALS] += 1.0
        if reals[RANDOM] * reals[EQUALS] >= MODULUS:
            return
    reals[STEP] = x if x > 0.0 else 0.0
    counts[WHO] = who
    counts[TO] = to


@plain_kernel
def offer_active(points: Array, state: States, places: Index, rates: Array, reals: Array, counts: Index) -> None:
    """Offer the active points whose multipliers meet a bound."""
    for c in range(counts[SIZE]):
        i = places[ACTIVE, c]
        s = state[i]
        rate = rates[DA, c]
        if (rate < 0.0 and s != TIE_OUT) or (rate > 0.0 and s != TIE_IN):
            to = LEFT if (rate > 0.0) == (s == EDGE) else (RIGHT if s == EDGE else OUT)
            bound = points[INNER, i] if to == LEFT else (0.0 if to == RIGHT else points[OUTER, i])
            offer(reals, counts, (bound - points[A, i]) / rate, i, to)


@plain_kernel
def offer_others(points: Array, state: States, places: Index, reals: Array, counts: Index, last: int) -> None:
    """Offer the inactive points whose margins meet a level; point `last`, blocked points and those at the origin are passed over.

    Nearly all fail the test, in an order that no processor can foresee: so it is made of products, without branches.
    """
    least_reach = NO_STEP if counts[IDLE] >= STUCK else 0.0
    for i in range(state.shape[0]):
        s = state[i]
        least = NOISE * points[ROOT, i] * reals[MASS]
        reach = ROUNDING * (reals[STEP] if reals[STEP] > least_reach else least_reach)
        up, down, m, dm = TOWARDS_EDGE[s], TOWARDS_CUT[s], points[M, i], points[DM, i]
        edge_rate, edge_gap = up * (dm - points[DP, i]), up * (points[P, i] - m)
        cut_rate, cut_gap = down * (dm - points[DQ, i]), down * (points[Q, i] - m)
        meets_edge = (edge_rate > least) & (edge_gap <= reach * edge_rate)
        meets_cut = (cut_rate > least) & (cut_gap <= reach * cut_rate)
        if not (meets_edge | meets_cut) or i == last or places[BLOCKED, i] or points[ROOT, i] == 0.0:
            continue
        if meets_edge:
            offer(reals, counts, edge_gap / edge_rate, i, EDGE)
        if meets_cut:
            offer(reals, counts, cut_gap / cut_rate, i, TIE_OUT if s == OUT else TIE_IN)


@plain_kernel
def offer_landing(points: Array, reals: Array, counts: Index, moves: bool) -> None:
    """Offer the driven point of a RISE where m meets p with a >= 0 (the edge), or where a meets 0 with m >= p (right of it)."""
    j = counts[RISING]
    a, gap, rate = points[A, j], points[P, j] - points[M, j], points[DV, j]
    x = 0.0
    if gap > 0.0:
        if not moves or points[DM, j] <= NOISE * points[ROOT, j] * reals[MASS]:
            return
        x = gap / points[DM, j]
    right = a + x * rate < 0.0
    offer(reals, counts, -a / rate if right else x, j, RIGHT if right else EDGE)


@folded_kernel
def join(columns: Array, U: Array, places: Index, ways: Array, rates: Array, j: int, k: int) -> float:
    """Put point j at the end of the active set; returns |part of Z_j outside the span|^2 / |Z_j|^2, found by projecting twice."""
    d = columns.shape[0]
    whole = 0.0
    for f in range(d):
        ways[OUTSIDE, f] = columns[f, j]
        whole += columns[f, j] ** 2
    for c in range(k):
        rates[TOTAL, c] = 0.0
    for _ in range(2):
        for c in range(k):
            rates[REST, c] = 0.0
            for f in range(d):
                rates[REST, c] += columns[f, places[ACTIVE, c]] * ways[OUTSIDE, f]
        lower(U, k, rates)
        for c in range(k):
            rates[TOTAL, c] += rates[REST, c]
        upper(U, k, rates)
        for c in range(k):
            for f in range(d):
                ways[OUTSIDE, f] -= rates[REST, c] * columns[f, places[ACTIVE, c]]
    part = 0.0
    for f in range(d):
        part += ways[OUTSIDE, f] ** 2
    for c in range(k):
        U[c, k] = rates[TOTAL, c]
    U[k, k] = np.sqrt(max(part, DEPENDENT * whole))
    places[ACTIVE, k] = j
    places[POSITION, j] = k
    return part / whole


@folded_kernel
def leave(U: Array, places: Index, rates: Array, j: int, k: int) -> None:
    """Take point j out of the k active ones: later rows of U move up, and plane rotations fold its row into them."""
    place = places[POSITION, j]
    for c in range(place):
        for i in range(place, k - 1):
            U[c, i] = U[c, i + 1]
    for i in range(place, k - 1):
        rates[REST, i] = U[place, i + 1]
    for c in range(place, k - 1):
        for i in range(c, k - 1):
            U[c, i] = U[c + 1, i + 1]
        radius = np.sqrt(U[c, c] ** 2 + rates[REST, c] ** 2)
        cosine, sine = U[c, c] / radius, rates[REST, c] / radius
        for i in range(c, k - 1):
            u, v = U[c, i], rates[REST, i]
            U[c, i] = cosine * u + sine * v
            rates[REST, i] = cosine * v - sine * u
        places[ACTIVE, c] = places[ACTIVE, c + 1]
        places[POSITION, places[ACTIVE, c]] = c
    places[POSITION, j] = -1


@plain_kernel
def walk(points: Array, places: Index, ways: Array, rates: Array, reals: Array, counts: Index, moves: bool) -> None:
    """Advance multipliers, margins, levels and w by the step; the outliers of a CONTINUOUS leg are left to its caller."""
    step = reals[STEP]
    for c in range(counts[SIZE]):
        points[A, places[ACTIVE, c]] += step * rates[DA, c]
    for row in range(DV):
        for i in range(points.shape[1]):
            points[row, i] += step * points[DV + row, i]
    if moves:
        for f in range(ways.shape[1]):
            ways[WAY, f] += step * ways[DW, f]
            ways[FAR, f] += step * ways[DW, f]
    reals[T] += step
    counts[CHANGES] += 1


@plain_kernel
def change_state(
    points: Array, state: States, places: Index, ways: Array, columns: Array, U: Array, rates: Array, counts: Index
) -> bool:  # fmt: skip
    """Give point counts[WHO] its new state; false when it is blocked, because it lies in the span of the active ones."""
    who, to, k = counts[WHO], counts[TO], counts[SIZE]
    landed = state[who] == MOVING
    if to >= TIE_IN or to == EDGE:
        complement = join(columns, U, places, ways, rates, who, k)
        if counts[KIND] != LEVELS and not landed and complement < DEPENDENT:
            places[POSITION, who] = -1
            places[BLOCKED, who] = 1
            return False
        counts[SIZE] = k + 1
    else:
        if not landed:
            leave(U, places, rates, who, k)
            counts[SIZE] = k - 1
            for i in range(places.shape[1]):
                places[BLOCKED, i] = 0
        points[A, who] = 0.0 if to == RIGHT else (points[INNER, who] if to == LEFT else points[OUTER, who])
    state[who] = to
    return True


@plain_kernel
def keep(points: Array, places: Index, marks: Index, which: Index, change: Array, counts: Index) -> None:
    """Make the last event of the log a breakpoint, with the changes of multipliers since the one before it."""
    e = counts[EVENTS]
    if counts[KIND] != CONTINUOUS or e == 0:
        return
    to = counts[ENTRIES]
    for i in range(points.shape[1]):
        if places[TOUCHED, i]:
            which[to], change[to] = i, points[PENDING, i]
            to += 1
            places[TOUCHED, i], points[PENDING, i] = 0, 0.0
    counts[ENTRIES], counts[MARKED] = to, 0
    marks[START, e] = to
    marks[KEPT, e - 1] = 1


@folded_kernel
def record(
    points: Array, places: Index, ways: Array, rates: Array, reals: Array, counts: Index, t: Array, marks: Index, which: Index,
    change: Array,
) -> None:  # fmt: skip
    """Log the event of a CONTINUOUS leg; it is a breakpoint unless w stays where it was at the last breakpoint."""
    length = 0.0
    for f in range(ways.shape[1]):
        length += ways[WAY, f] ** 2
    stays = np.sqrt(length) * reals[WIDEST] <= DRIFT
    if not stays and counts[MARKED] > 0:
        keep(points, places, marks, which, change, counts)
    for c in range(counts[SIZE]):
        i = places[ACTIVE, c]
        points[PENDING, i] += reals[STEP] * rates[DA, c]
        counts[MARKED] += 1 - places[TOUCHED, i]
        places[TOUCHED, i] = 1
    e = counts[EVENTS]
    t[e] = reals[T]
    marks[POINT, e], marks[STATE, e], marks[KEPT, e], marks[START, e + 1] = counts[WHO], counts[TO], 0, counts[ENTRIES]
    counts[EVENTS] = e + 1
    if not stays or counts[WHO] < 0 or counts[TO] >= TIE_IN:
        keep(points, places, marks, which, change, counts)
        for f in range(ways.shape[1]):
            ways[WAY, f] = 0.0


@njit(cache=True, error_model="numpy")
def follow_few(
    points: Array, state: States, places: Index, ways: Array, columns: Array, U: Array, rates: Array, reals: Array, counts: Index,
    t: Array, marks: Index, log: tuple[Index, Array],
) -> int:  # fmt: skip
    """Follow one leg to its end or counts[MOST] changes of state; returns why it stopped. `log`: its entries."""
    which, change = log
    last, code, continuous = -1, BUDGET, counts[KIND] == CONTINUOUS
    for _ in range(counts[MOST]):
        k = counts[SIZE]
        room = counts[ENTRIES] + 2 * (k + counts[MARKED])
        if k >= U.shape[0] or (continuous and (room > which.shape[0] or counts[EVENTS] + 1 >= t.shape[0])):
            code = FACTOR_FULL if k >= U.shape[0] else LOG_FULL
            break
        moves = set_rates(points, state, places, ways, columns, U, rates, reals, k)
        reals[STEP], reals[EQUALS] = reals[T_END] - reals[T], 0.0
        counts[WHO], counts[TO] = -1, -1
        offer_active(points, state, places, rates, reals, counts)
        if moves or counts[KIND] == LEVELS:
            offer_others(points, state, places, reals, counts, last)
        if counts[KIND] == RISE:
            offer_landing(points, reals, counts, moves)
        walk(points, places, ways, rates, reals, counts, moves)
        if continuous:
            record(points, places, ways, rates, reals, counts, t, marks, which, change)
        who = counts[WHO]
        if who < 0 or (continuous and counts[TO] >= TIE_IN):
            code = FINISHED if who < 0 else TIED
            reals[T] = reals[T_END] if who < 0 else reals[T]
            break
        landed = state[who] == MOVING
        changed = change_state(points, state, places, ways, columns, U, rates, counts)
        if landed:
            code = FINISHED
            break
        # Rounding may ask a point that left at once straight back in: the leg advances first.
        last = who if changed and reals[STEP] == 0.0 and places[POSITION, who] < 0 else -1
        if changed:
            counts[IDLE] = counts[IDLE] + 1 if reals[STEP] <= NO_STEP else 0
        if counts[IDLE] > MOST_IDLE * (k + SPARE_POINTS):
            counts[IDLE] = 0
            code = STALLED
            break
    keep(points, places, marks, which, change, counts)
    return code
